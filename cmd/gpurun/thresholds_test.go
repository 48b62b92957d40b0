package main

import (
	"strings"
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/libraries"
	"gpurun/kernels/tuning"
)

// TestBuiltInProfiles checks that no model has two profiles, and that the smoke
// test measures what they are about: a profile beside it would guard nothing.
func TestBuiltInProfiles(t *testing.T) {
	profiles, err := builtInProfiles()
	if err != nil || len(profiles) == 0 {
		t.Fatal(len(profiles), err)
	}
	s, err := planSmoke(parsedOf(t, "smoke", "--device", "sim"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.gate.Auto) != len(profiles) {
		t.Errorf("smoke goes by %d of %d profiles", len(s.gate.Auto), len(profiles))
	}
	const smokeLargest = 64 << 20
	seen := map[string]bool{}
	for _, p := range profiles {
		for _, gpu := range p.GPUs {
			if seen[gpu] {
				t.Errorf("%s has two profiles", gpu)
			}
			seen[gpu] = true
		}
		for _, r := range p.Rules {
			if r.Algorithm == "" {
				t.Errorf("%s: %s names no algorithm, and naive is slower than any gate", p.Name, r)
			}
			if r.Least > smokeLargest && r.Algorithm != libraries.NCCLName {
				t.Errorf("%s: smoke measures nothing for %s", p.Name, r)
			}
			if !strings.Contains(r.Source, "measured") {
				t.Errorf("%s: %s does not say whether it was measured: %s", p.Name, r, r.Source)
			}
		}
	}
}

// TestProfilesAreAboutWhatRuns checks that what auto takes for the sizes of smoke
// is what the thresholds are for.
func TestProfilesAreAboutWhatRuns(t *testing.T) {
	profiles, err := builtInProfiles()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := builtInTuning()
	if err != nil {
		t.Fatal(err)
	}
	withoutMulticast := func(algorithm string) bool { return !strings.HasPrefix(algorithm, "multimem") }
	for _, p := range profiles {
		for _, r := range p.Rules {
			if r.Algorithm == libraries.NCCLName {
				continue // which auto never takes, and who names it gets judged
			}
			q := tuning.Query{GPU: p.GPUs[0], SM: 90, Collective: r.Collective, World: r.World, Bytes: 64 << 20, Able: withoutMulticast}
			if r.Most < q.Bytes {
				q.Bytes = 1 << 10
			}
			if got, ok := tables.Choose(q); !ok || got.Algorithm != r.Algorithm {
				t.Errorf("%s, %d ranks: %s is about another algorithm than %s", p.Name, r.World, r, got.Algorithm)
			}
		}
	}
}

// TestSmokeIsOfEverything checks what smoke runs on GPUs.
func TestSmokeIsOfEverything(t *testing.T) {
	t.Setenv("GPURUN_EPILOGUE", "negate")
	t.Setenv("GPURUN_UNALIGNED", "true")
	t.Setenv("GPURUN_CUDAGRAPH", "3")
	s, err := planSmoke(parsedOf(t, "smoke", "--device", "sim", "--quick"))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.runs) != len(kernels.Collectives()) {
		t.Fatalf("%d collectives", len(s.runs))
	}
	for _, p := range s.runs {
		if j := p.job; !j.Verify || j.GraphReplays != 0 || j.Unaligned || len(j.DTypes) != 1 || len(j.Sizes) > 3 || j.Epilogue == "negate" {
			t.Errorf("%s: %+v", p.what.Name, j)
		}
		if !p.gate.Empty() || p.config.OutputFile != "" {
			t.Errorf("%s is judged by itself", p.what.Name)
		}
	}
}
