package tune

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/session"
	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

func TestCandidates(t *testing.T) {
	for _, c := range []struct {
		collective, algorithms string
		sms, maxBlocks         int
		wantAlgorithms         string
		wantBlocks             []int
	}{
		{
			"allreduce", "naive oneshot twoshot multimem_oneshot", 132, 0, "twoshot oneshot",
			[]int{128, 96, 64, 32, 16, 8, 4, 2, 1},
		},
		{"allreduce", "naive", 132, 0, "naive", []int{128, 96, 64, 32, 16, 8, 4, 2, 1}},
		{"allgather", "naive copy_engine", 132, 0, "copy_engine", []int{32, 16, 8, 4, 2, 1}},
		{"allgather", "naive pull", 4, 0, "pull", []int{4, 2, 1}},
		{"allgather", "naive pull", 132, 3, "pull", []int{2, 1}},
		{"alltoall", "naive push ll", 1, 0, "ll push", []int{1}},
		{"barrier", "flag", 132, 0, "flag", nil},
	} {
		what, _ := kernels.Find(c.collective)
		p := subject{&plan.CollectiveRun{Collective: what, Plan: plan.Plan{Run: session.Run{
			Host: host.Host{SMs: c.sms}, Job: workload.Job{Algorithms: strings.Fields(c.algorithms), MaxBlocks: c.maxBlocks},
		}}}}
		p.setCandidates()
		if got := strings.Join(p.Job.Algorithms, " "); got != c.wantAlgorithms {
			t.Errorf("%+v: %s", c, got)
		}
		if diff := cmp.Diff(c.wantBlocks, p.Job.Blocks); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// TestTuningVerifiesFirst checks that every candidate that is timed has been
// verified, replayed from a graph.
func TestTuningVerifiesFirst(t *testing.T) {
	p := subject{&plan.CollectiveRun{Plan: plan.Plan{Run: session.Run{Host: host.Host{Notice: "no GPU"}, Job: workload.Job{
		Algorithms: []string{"pull"}, Blocks: []int{2, 1}, Sizes: []int64{1 << 10, 4 << 10}, Iterations: 10, GraphReplays: 5,
	}}}}}
	want := p.Job
	want.Verify, want.Sizes, want.Iterations, want.GraphReplays = true, []int64{4 << 10}, 1, 1
	if diff := cmp.Diff(want, p.verification().Job); diff != "" {
		t.Error("verification:", diff)
	}
	want = p.Job
	want.SkipSlowerThan = 2
	if diff := cmp.Diff(want, p.timing().Job); diff != "" {
		t.Error("timing:", diff)
	}
	if p.timing().Host.Notice != "" {
		t.Error("what was to be said of the machine is said twice")
	}
}

func TestVerificationSize(t *testing.T) {
	for _, c := range []struct {
		sizes []int64
		want  int64
	}{
		{[]int64{1 << 10, 1 << 20, 1 << 30}, 1 << 20},
		{[]int64{2 << 20, 4 << 20}, 2 << 20},
		{[]int64{8}, 8},
	} {
		if got := verificationSize(c.sizes); got != c.want {
			t.Errorf("%v: %d, want %d", c.sizes, got, c.want)
		}
	}
}

// TestSamples checks that the slower place counts, that a candidate that was
// skipped in one place is none, and neither is a grid beyond the algorithm's.
func TestSamples(t *testing.T) {
	what, _ := kernels.Find("allgather")
	p := subject{&plan.CollectiveRun{Collective: what, Plan: plan.Plan{Run: session.Run{Host: host.Host{Ranks: 4}}}}}
	one := func(algorithm string, blocks int, inPlace bool, us float64) result.Result {
		return result.Result{
			Collective: "allgather", Algorithm: algorithm, Blocks: blocks, Bytes: 8, InPlace: inPlace,
			Time: result.Time{P50: us},
		}
	}
	got := p.samples([]result.Result{
		one("pull", 8, false, 3), one("pull", 8, true, 4),
		one("pull", 1, false, 3),
		one("copy_engine", 2, false, 6), one("copy_engine", 2, true, 5),
		one("copy_engine", 64, false, 1), one("copy_engine", 64, true, 1),
	})
	want := []tuning.Sample{
		{Collective: "allgather", World: 4, Bytes: 8, Algorithm: "pull", Blocks: 8, Micros: 4},
		{Collective: "allgather", World: 4, Bytes: 8, Algorithm: "copy_engine", Blocks: 2, Micros: 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Sizes that come to the same bytes are one sample, and those that come to none are no sample:
// a table has no last size below which there is nothing.
func TestSamplesOfOddSizes(t *testing.T) {
	what, _ := kernels.Find("allgather")
	p := subject{&plan.CollectiveRun{Collective: what, Plan: plan.Plan{Run: session.Run{Host: host.Host{Ranks: 4}}}}}
	var results []result.Result
	for i, bytes := range []int64{0, 8, 8} {
		for _, inPlace := range []bool{false, true} {
			results = append(results, result.Result{
				Collective: "allgather", Algorithm: "pull", Blocks: 8, Bytes: bytes, InPlace: inPlace,
				Time: result.Time{P50: float64(i)},
			})
		}
	}
	want := []tuning.Sample{{Collective: "allgather", World: 4, Bytes: 8, Algorithm: "pull", Blocks: 8, Micros: 2}}
	if diff := cmp.Diff(want, p.samples(results)); diff != "" {
		t.Error(diff)
	}
}

// Samples know the epilogue and the length of its rows.
func TestSamplesOfRows(t *testing.T) {
	what, _ := kernels.Find("allreduce")
	p := subject{&plan.CollectiveRun{Collective: what, Plan: plan.Plan{Run: session.Run{
		Host: host.Host{Ranks: 2}, Job: workload.Job{Epilogue: "rmsnorm", Row: 8192},
	}}}}
	out := result.Result{
		Collective: "allreduce", Algorithm: "oneshot", Blocks: 8, Bytes: 128 << 10, Time: result.Time{P50: 7},
	}
	in := out
	in.InPlace = true
	want := []tuning.Sample{{
		Collective: "allreduce", World: 2, Epilogue: collective.RMSNorm, Hidden: 8192, Bytes: 128 << 10, Algorithm: "oneshot",
		Blocks: 8, Micros: 7,
	}}
	if diff := cmp.Diff(want, p.samples([]result.Result{out, in})); diff != "" {
		t.Error(diff)
	}
}

// Sizes that come to the same rows are measured once.
func TestRowsAreKept(t *testing.T) {
	t.Setenv("GPURUN_DEVICE", "sim")
	what, _ := kernels.Find("allreduce")
	all := []int64{8 << 10, 16 << 10, 24 << 10, 32 << 10, 40 << 10}
	for line, want := range map[string][]int64{
		"--epilogue rmsnorm --hidden 8192": {8 << 10, 32 << 10},
		"--epilogue bias --hidden 8192":    all,
		"--epilogue none":                  all,
	} {
		planned, err := newMeasurement(t.Context(),
			flagtest.Parse(t, AddFlags, strings.Fields(line+" -b 8K -e 40K -i 8K")...), []*collective.Collective{what}, nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, planned.runs[0].Job.Sizes); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestTableHead(t *testing.T) {
	h200 := cudart.Info{Name: "NVIDIA H200", Major: 9, Driver: "580.159.04"}
	got, err := tableHead(result.Report{Devices: []cudart.Info{h200, h200}}, "half")
	if err != nil || got.GPU != "NVIDIA H200" || got.Compute != "9.0" || got.DType != "half" {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = tableHead(result.Report{Devices: []cudart.Info{h200, {Name: "NVIDIA H100"}}}, "half")
	if exit.Code(err) != exit.Environment || !strings.Contains(err.Error(), "NVIDIA H200 and NVIDIA H100") {
		t.Errorf("error %v", err)
	}
}

// TestTuningIsOfPlainCalls checks that a configuration for usual runs does not
// get into a table.
func TestTuningIsOfPlainCalls(t *testing.T) {
	for name, value := range map[string]string{
		"ALGO": "naive", "OP": "max", "EPILOGUE": "negate", "BLOCKS": "3", "UNALIGNED": "true", "ROOT": "1", "DEVICE": "sim",
		"NPROC_PER_NODE": "2", "DATATYPE": "half", "HIDDEN": "4096,8192",
	} {
		t.Setenv("GPURUN_"+name, value)
	}
	what, _ := kernels.Find("reduce")
	planned, err := newMeasurement(t.Context(), flagtest.Parse(t, AddFlags, "-e", "4K"),
		[]*collective.Collective{what}, nil)
	if err != nil {
		t.Fatal(err)
	}
	job := planned.runs[0].Job
	got := workload.Job{
		Algorithms: job.Algorithms, Ops: job.Ops, DTypes: job.DTypes, Blocks: job.Blocks, Epilogue: job.Epilogue,
		Unaligned: job.Unaligned, Root: job.Root, Sizes: job.Sizes,
	}
	want := workload.Job{
		Algorithms: []string{"naive", "p2p", "ll", "oneshot_lamport", "twoshot_lamport", "chain", "copy_engine"},
		Ops:        []string{"sum"}, DTypes: []string{"half"},
		Sizes: []int64{1 << 10, 4 << 10},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestKinds checks which calls a line has measured, collective for collective.
func TestKinds(t *testing.T) {
	t.Setenv("GPURUN_DEVICE", "sim")
	t.Setenv("GPURUN_NPROC_PER_NODE", "2")
	for _, c := range []struct {
		collectives, line string
		want              []string
		refused           string
	}{
		{"allreduce broadcast", "", []string{"allreduce", "broadcast"}, ""},
		{"allreduce", "--epilogue rmsnorm", []string{"allreduce with rmsnorm of 4096"}, ""},
		{
			"allreduce", "--epilogue rmsnorm --hidden 8192,4096,8192",
			[]string{"allreduce with rmsnorm of 8192", "allreduce with rmsnorm of 4096"},
			"",
		},
		{
			"allreduce broadcast", "--epilogue none,negate,bias --hidden 64,128",
			[]string{
				"allreduce", "allreduce with negate", "allreduce with bias of 64", "allreduce with bias of 128", "broadcast",
			},
			"",
		},
		{"allreduce broadcast", "--epilogue rmsnorm", nil, "broadcast takes no --epilogue"},
		{"allreduce", "--hidden 64", nil, "--hidden does not apply to --epilogue none"},
		{"allreduce", "--epilogue negate --hidden 64", nil, "--hidden does not apply to --epilogue negate"},
		{"allreduce", "--epilogue none,relu", nil, `unknown value "relu"`},
		{"allreduce", "--epilogue rmsnorm --hidden 64,x", nil, `--hidden: "x" is not a positive whole number`},
		{"allreduce", "--epilogue rmsnorm --hidden 64,7", nil, "a row of 7 elements"},
		{"allreduce", "--epilogue bias --hidden 64,2000000000", nil, "--hidden: 2000000000 is not between 1 and"},
	} {
		var all []*collective.Collective
		for _, name := range strings.Fields(c.collectives) {
			what, _ := kernels.Find(name)
			all = append(all, what)
		}
		planned, err := newMeasurement(t.Context(), flagtest.Parse(t, AddFlags, strings.Fields(c.line)...), all, nil)
		if err != nil {
			if c.refused == "" || !strings.Contains(err.Error(), c.refused) || exit.Code(err) != exit.Usage {
				t.Errorf("%s: %v, want %q", c.line, err, c.refused)
			}
			continue
		}
		var got []string
		for _, p := range planned.runs {
			got = append(got, p.sample().Calls())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.line, diff)
		}
	}
}
