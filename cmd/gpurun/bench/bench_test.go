package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/worker/library"
	"gpurun/worker/result"
	"gpurun/worker/result/bench"
	"gpurun/worker/workload"
)

// TestBenchPlans checks what a line comes down to, in the simulator.
func TestBenchPlans(t *testing.T) {
	for _, c := range []struct {
		line       string
		algorithms string
		against    string
		rounds     int
		ceiling    int64
	}{
		{
			"allreduce", "oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport twoshot_push copy_engine " +
				"multimem_oneshot multimem_twoshot", "oneshot", 6, simulatedCeilingBytes,
		},
		{
			"allreduce --algo naive,all --rounds 9",
			"naive oneshot oneshot_ll oneshot_lamport twoshot twoshot_lamport twoshot_push copy_engine multimem_oneshot " +
				"multimem_twoshot", "naive", 9, simulatedCeilingBytes,
		},
		{"allreduce --algo twoshot,auto --against auto", "twoshot auto", "auto", 6, simulatedCeilingBytes},
		{"allreduce --p2p off", "oneshot oneshot_ll oneshot_lamport twoshot_lamport", "oneshot", 6, simulatedCeilingBytes},
		{"barrier --against multimem", "flag multimem", "multimem", 6, 0},
		{"reduce --p2p off", "ll oneshot_lamport twoshot_lamport chain", "ll", 6, simulatedCeilingBytes},
		{"reduce --algo naive", "naive", "naive", 6, simulatedCeilingBytes}, // alone it stays
	} {
		words := strings.Fields(c.line)
		what, _ := kernels.Find(words[0])
		b, err := Plan(t.Context(), flagtest.Parse(t, AddFlags,
			append([]string{"--device", "sim", "--nproc-per-node", "2"}, words[1:]...)...), what, nil)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		got := workload.Job{
			Algorithms: b.Job.Algorithms, Passes: b.Job.Passes, CeilingBytes: b.Job.CeilingBytes, Cycles: b.Job.Cycles,
		}
		want := workload.Job{Algorithms: strings.Fields(c.algorithms), Passes: c.rounds, CeilingBytes: c.ceiling, Cycles: 1}
		if diff := cmp.Diff(want, got); diff != "" || b.against != c.against {
			t.Errorf("%s: against %s: %s", c.line, b.against, diff)
		}
	}
}

// Only bench works in rounds, whatever the environment says to it.
func TestOtherCommandsHaveNoRounds(t *testing.T) {
	t.Setenv("GPURUN_ROUNDS", "7")
	t.Setenv("GPURUN_RUN_CYCLES", "3")
	what, _ := kernels.Find("allreduce")
	f := flagtest.Parse(t, AddFlags, "--device", "sim")
	p, err := plan.NewCollective(t.Context(), f, what, plan.Options{}, nil)
	if err != nil || p.Job.Passes != 0 || p.Job.CeilingBytes != 0 || p.Job.Cycles != 3 {
		t.Errorf("%+v, %v", p, err)
	}
	b, err := Plan(t.Context(), f, what, nil)
	if err != nil || b.Job.Passes != 7 || b.Job.Cycles != 1 {
		t.Errorf("%+v, %v", b, err)
	}
}

// The base is nccl where it takes part, without being told.
func TestBaseOfRatios(t *testing.T) {
	for _, c := range []struct {
		algorithms, asked string
		want              string
	}{
		{"oneshot nccl twoshot", "", "nccl"},
		{"oneshot nccl twoshot", "twoshot", "twoshot"},
		{"oneshot twoshot", "", "oneshot"},
		{"oneshot twoshot", "nccl", ""},
	} {
		b := &Run{CollectiveRun: &plan.CollectiveRun{Plan: plan.Plan{Run: session.Run{
			Config: settings.Config{Against: c.asked}, Job: workload.Job{Algorithms: strings.Fields(c.algorithms)},
		}}}}
		err := b.chooseBase()
		if c.want == "" {
			if exit.Code(err) != exit.Usage {
				t.Errorf("%+v: %v", c, err)
			}
		} else if err != nil || b.against != c.want {
			t.Errorf("%+v: %s, %v", c, b.against, err)
		}
	}
}

// NCCL takes part on GPUs, unless somebody says which algorithms do.
func TestBenchComparesWithNCCL(t *testing.T) {
	gpu := cudart.Info{Name: "x", Major: 9, SMs: 132}
	o := plan.Options{
		Profiles: [][]byte{configs.Bench}, ListGPUs: func() ([]cudart.Info, error) { return []cudart.Info{gpu, gpu}, nil },
	}
	for _, c := range []struct {
		name, line string
		library    oldNCCL
		remark     string // empty: nothing is said
		taken      bool
	}{
		{"there", "allreduce", oldNCCL{}, "", true},
		{"moves", "alltoall -d int8", oldNCCL{}, "", true},
		{"missing", "allreduce", oldNCCL{missing: true}, "nccl is not measured: no such file lib.so", false},
		{"too old", "allreduce -d half,f8e4m3", oldNCCL{}, "nccl is not measured: it does not add f8e4m3", false},
		{"no epilogues", "allreduce --epilogue negate", oldNCCL{}, "nccl is not measured: no epilogue negate", false},
		{"shared GPU", "allreduce --nproc-per-node 3 --oversubscribe", oldNCCL{}, "3 ranks share 2 GPUs", false},
		{"has none", "barrier", oldNCCL{missing: true}, "", false},
		{"simulator", "allreduce --device sim", oldNCCL{}, "", false},
		{"asked for others", "allreduce --algo all", oldNCCL{}, "", false},
	} {
		words := strings.Fields(c.line)
		what, _ := kernels.Find(words[0])
		f := flagtest.Parse(t, AddFlags, append([]string{"--nccl-lib", "lib.so"}, words[1:]...)...)
		p, err := plan.NewCollective(t.Context(), f, what, o, nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b := &Run{CollectiveRun: p}
		before := len(b.Job.Algorithms)
		b.compareWithNCCL(c.library.open)
		taken := slices.Contains(b.Job.Algorithms, "nccl") && slices.Contains(b.Job.Optional, "nccl")
		if taken != c.taken || len(b.Job.Algorithms) != before+map[bool]int{true: 1}[c.taken] {
			t.Errorf("%s: %q, optional %q", c.name, b.Job.Algorithms, b.Job.Optional)
		}
		if !strings.Contains(b.Remark, c.remark) || (c.remark == "") != (b.Remark == "") {
			t.Errorf("%s: %q, want %q", c.name, b.Remark, c.remark)
		}
	}
}

// oldNCCL is open, and does not add 8-bit floats.
type oldNCCL struct {
	library.Library
	missing bool
}

func (l oldNCCL) open(path string) (library.Library, error) {
	if l.missing {
		return nil, fmt.Errorf("no such file %s", path)
	}
	return l, nil
}

func (oldNCCL) Supports(_ string, d collective.DType, _ collective.Op) error {
	if d.Name == "f8e4m3" {
		return errors.New("it does not add f8e4m3")
	}
	return nil
}

// A plot goes where it is asked for, and a file is no terminal.
func TestWhereThePlotGoes(t *testing.T) {
	panels := bench.Panels(result.Report{
		Results: []result.Result{{Collective: "allreduce", Algorithm: "ring", Bytes: 1 << 10, Samples: []float64{3}}},
	})
	for _, c := range []struct {
		output      string
		plot, asked bool
		out, err    bool
	}{
		{"table", true, true, true, false},
		{"table", false, false, false, false},
		{"table", false, true, false, false},
		{"json", true, true, false, true},
		{"json", false, false, false, false},
	} {
		var stdout, stderr bytes.Buffer
		b := &Run{
			CollectiveRun: &plan.CollectiveRun{Plan: plan.Plan{Run: session.Run{Config: settings.Config{Output: c.output}}}},
			plot:          c.plot, plotAsked: c.asked,
		}
		if err := b.drawText(&program.Invocation{Out: &stdout, Err: &stderr}, panels); err != nil {
			t.Fatal(err)
		}
		if stdout.Len() > 0 != c.out || stderr.Len() > 0 != c.err {
			t.Errorf("%+v: stdout %q, stderr %q", c, stdout.String(), stderr.String())
		}
	}
	file, err := os.Create(t.TempDir() + "/plot")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b := &Run{
		CollectiveRun: &plan.CollectiveRun{Plan: plan.Plan{Run: session.Run{Config: settings.Config{Output: "table"}}}},
	}
	if err := b.drawText(&program.Invocation{Out: file}, panels); err != nil {
		t.Fatal(err)
	}
	if info, err := file.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("a file got a plot: %v", err)
	}
}
