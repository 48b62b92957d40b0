package smoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/libraries"
	"gpurun/worker/result"
)

// TestLook checks that what the machine lacks is said and fails the run, and that a
// warning does not.
func TestLook(t *testing.T) {
	fine := result.Check{Name: "driver", Status: result.StatusOK, Summary: "580"}
	warned := result.Check{Name: "shm", Status: result.StatusWarn, Summary: "64 MB", Advice: "mount more"}
	failed := result.Check{Name: "peers", Status: result.StatusFail, Summary: "GPU 0 cannot reach GPU 1"}
	for _, c := range []struct {
		checks []result.Check
		code   int
		text   string
	}{
		{nil, exit.OK, ""},
		{[]result.Check{fine, warned}, exit.OK, "gpurun: WARN: shm: 64 MB (mount more)\n"},
		{[]result.Check{failed}, exit.WrongData, "gpurun: FAIL: peers: GPU 0 cannot reach GPU 1\n"},
		{[]result.Check{failed, fine}, exit.Environment, "gpurun: FAIL: peers: GPU 0 cannot reach GPU 1\n"},
	} {
		s := &Run{examine: func(context.Context, *program.Invocation, settings.Config) ([]result.Check, int, error) {
			return c.checks, c.code, nil
		}}
		var stderr bytes.Buffer
		var all result.Report
		if err := s.look(context.Background(), nil, &stderr, &all); err != nil || all.ExitCode != c.code ||
			stderr.String() != c.text {
			t.Errorf("%v: code %d, %v, %q", c.checks, all.ExitCode, err, stderr.String())
		}
		if diff := cmp.Diff(c.checks, all.Checks); diff != "" {
			t.Error(diff)
		}
	}
	broken := errors.New("broken")
	s := &Run{examine: func(context.Context, *program.Invocation, settings.Config) ([]result.Check, int, error) {
		return nil, exit.OK, broken
	}}
	if err := s.look(context.Background(), nil, &bytes.Buffer{}, &result.Report{}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestBlindSmoke checks that a machine that cannot be examined fails the run, in the files
// as well.
func TestBlindSmoke(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "")
	file := filepath.Join(t.TempDir(), "out.json")
	s := &Run{
		config: settings.Config{OutputFile: file},
		runs:   []namedRun{{"allreduce", 1, &plan.CollectiveRun{Collective: kernels.Collectives()[0]}}},
		examine: func(context.Context, *program.Invocation, settings.Config) ([]result.Check, int, error) {
			return nil, exit.OK, &exit.Error{Code: 130, Err: errors.New("ended by SIGINT")}
		},
	}
	var stdout bytes.Buffer
	err := Show(t.Context(), &program.Invocation{Out: &stdout, Err: &bytes.Buffer{}}, s)
	if exit.Code(err) != 130 || !strings.Contains(exit.Describe(err), "ended by SIGINT") ||
		!strings.Contains(stdout.String(), "not run") {
		t.Errorf("%v, %s", err, stdout.String())
	}
	var r result.Report
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &r) != nil || r.Passed || r.ExitCode != 130 ||
		!strings.Contains(r.Failure, "ended by SIGINT") {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestSmokeTable(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	wrong := int64(1)
	rows := []row{
		{name: "allreduce", ran: true, cases: []result.Result{{}, {Wrong: &wrong}}, took: 1500e6},
		{name: "reduce", ran: true, cases: []result.Result{{}}},
		{name: "barrier"},
	}
	report := result.Report{
		Devices: []cudart.Info{{Backend: "cuda", Name: "x"}}, Passed: true,
		Gate: &result.Gate{Note: "not much was judged", Rules: []result.GateRule{
			{Rule: "allreduce@64M:300", Collective: "allreduce", Metric: "busbw", Limit: 300, Worst: value(310)},
			{Rule: "allreduce@1K:10us", Collective: "allreduce", Metric: "latency", Limit: 10, Worst: value(9.9)},
			{Rule: "reduce:1", Collective: "reduce", Metric: "busbw", Limit: 1},
		}},
	}
	var got bytes.Buffer
	if err := writeTable(&got, rows, report); err != nil {
		t.Fatal(err)
	}
	want := `1 x x (cuda)

COLLECTIVE  CASES  WRONG  NEAREST TO ITS THRESHOLD                  TIME
allreduce   2      1      9.9 of at most 10 us (allreduce@1K:10us)  1.5s
reduce      1      0      no threshold                              0.0s
barrier     -      -      not run                                   -

PASS: not much was judged
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// TestBuiltInProfiles checks that no model has two profiles, and that the smoke
// test measures what they are about: a profile beside it would guard nothing.
func TestBuiltInProfiles(t *testing.T) {
	s, err := Plan(t.Context(), flagtest.Parse(t, AddFlags, "--device", "sim"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	profiles := s.gate.Auto
	if len(profiles) == 0 {
		t.Fatal("smoke goes by no profiles")
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

// TestSmokeIsOfEverything checks what smoke runs on GPUs.
func TestSmokeIsOfEverything(t *testing.T) {
	t.Setenv("GPURUN_EPILOGUE", "negate")
	t.Setenv("GPURUN_UNALIGNED", "true")
	t.Setenv("GPURUN_CUDAGRAPH", "3")
	s, err := Plan(t.Context(), flagtest.Parse(t, AddFlags, "--device", "sim", "--quick"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.runs) != len(kernels.Collectives()) {
		t.Fatalf("%d collectives", len(s.runs))
	}
	for _, p := range s.runs {
		if j := p.Job; !j.Verify || j.GraphReplays != 0 || j.Unaligned || len(j.DTypes) != 1 || len(j.Sizes) > 3 ||
			j.Epilogue == "negate" {
			t.Errorf("%s: %+v", p.Collective.Name, j)
		}
		if want := max(len(p.Job.Sizes), 1); p.calls != want {
			t.Errorf("%s: progress counts %d calls, want one of each size: %d", p.Collective.Name, p.calls, want)
		}
		if !p.Gate.Empty() {
			t.Errorf("%s is judged by itself", p.Collective.Name)
		}
	}
}
