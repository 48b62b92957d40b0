package tables

import (
	"strings"
	"testing"

	"gpurun/kernels/libraries"
	"gpurun/kernels/tuning"
)

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
