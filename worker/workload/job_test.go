package workload

import (
	"errors"
	"testing"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// small is a job that makes sense.
func small() Job {
	return Job{
		Collective: "allreduce", Algorithms: []string{"naive", "auto"}, DTypes: []string{"float", "half"},
		Ops: []string{"sum"}, Sizes: []int64{0, 3, 1000, 1 << 22}, Cycles: 1 << 20, Verify: true,
	}
}

// simulated are the devices of so many ranks in the simulator.
func simulated(world int) Capabilities {
	s := Capabilities{}
	for range world {
		s.Devices = append(s.Devices, cudart.Info{Backend: "sim", Name: "gpurun simulator", Major: 10, SMs: 4})
	}
	return s
}

// planned is a job with its algorithms chosen.
func planned(t testing.TB, job Job, caps Capabilities) Plan {
	t.Helper()
	p, err := job.Plan(len(caps.Devices))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Choose(caps); err != nil {
		t.Fatal(err)
	}
	return p
}

func casesOf(t testing.TB, job Job, caps Capabilities) []Case {
	t.Helper()
	return planned(t, job, caps).Cases
}

func TestSweepHasEveryCase(t *testing.T) {
	cases := casesOf(t, small(), simulated(4))
	if want := 2 * 2 * 4 * 2; len(cases) != want { // however often they run
		t.Errorf("%d cases, want %d", len(cases), want)
	}
	seen := map[string]int{}
	for _, c := range cases {
		seen[c.String()]++
	}
	for text, want := range map[string]int{
		"allreduce naive float sum, 0 bytes out of place":         2, // 3 bytes hold no float
		"allreduce naive half sum, 2 bytes in place":              1,
		"allreduce oneshot_ll float sum, 1000 bytes in place":     1,
		"allreduce twoshot_push half sum, 4194304 bytes in place": 1,
		"allreduce oneshot half sum, 4194304 bytes in place":      0,
		"allreduce naive float sum, 4194304 bytes in place":       1,
		"allreduce oneshot_ll half sum, 1000 bytes out of place":  1,
		"allreduce twoshot half sum, 1000 bytes out of place":     0,
		"allreduce naive half sum, 4194304 bytes out of place":    1,
	} {
		if seen[text] != want {
			t.Errorf("%s: %d times, want %d", text, seen[text], want)
		}
	}
}

// Jobs of a collective with the words that fit it.
func jobOf(collective string) Job {
	job := small()
	job.Collective, job.Algorithms = collective, []string{"auto"}
	if collective != "allreduce" && collective != "reduce" && collective != "reducescatter" {
		job.Ops = []string{"none"}
	}
	return job
}

func TestSenselessJobsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(j *Job){
		"collective":     func(j *Job) { j.Collective = "allreduc" },
		"algorithm":      func(j *Job) { j.Algorithms = []string{"threeshot"} },
		"dtype":          func(j *Job) { j.DTypes = []string{"quarter"} },
		"op":             func(j *Job) { j.Ops = []string{"median"} },
		"no such rank":   func(j *Job) { j.Inject = []Injection{{Kind: Kill, Rank: 4}} },
		"no such byte":   func(j *Job) { j.Inject = []Injection{{Kind: Corrupt, Byte: 1 << 22}} },
		"unseen":         func(j *Job) { j.Verify, j.Inject = false, []Injection{{Kind: Corrupt}} },
		"huge":           func(j *Job) { j.Sizes = []int64{1 << 62} },
		"negative":       func(j *Job) { j.Sizes = []int64{-1} },
		"epilogue":       func(j *Job) { j.Epilogue = "softmax" },
		"wrong op":       func(j *Job) { j.Epilogue, j.Ops = "negate", []string{"prod"} },
		"no row":         func(j *Job) { j.Epilogue = "rmsnorm" },
		"odd row":        func(j *Job) { j.Epilogue, j.Row = "bias", 3 },
		"unaligned rows": func(j *Job) { j.Epilogue, j.Row, j.Unaligned = "rmsnorm", 64, true },
		"not possible":   func(j *Job) { j.Algorithms, j.Ops = []string{"multimem_twoshot"}, []string{"prod"} },
		"pdl":            func(j *Job) { j.PDL = "maybe" },
		"multicast":      func(j *Job) { j.Multicast = "maybe" },
		"p2p":            func(j *Job) { j.P2P = "on" },
		"needless op":    func(j *Job) { j.Collective = "allgather" },
		"no such root":   func(j *Job) { j.Collective, j.Root = "reduce", 4 },
		"no output":      func(j *Job) { j.Collective, j.Inject = "reduce", []Injection{{Kind: Corrupt, Rank: 1}} },
		"part of output": func(j *Job) {
			j.Collective, j.Inject = "reducescatter", []Injection{{Kind: Corrupt, Byte: 1 << 20}}
		},
	} {
		job := small()
		job.Algorithms = []string{"auto"}
		spoil(&job)
		var usage *UsageError
		if err := job.Check(4); !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	job := small()
	if err := job.Check(73); err == nil {
		t.Error("73 ranks are accepted")
	}
	for _, c := range []string{
		"allreduce", "allgather", "reducescatter", "broadcast", "reduce", "gather", "scatter", "alltoall", "barrier",
	} {
		if err := jobOf(c).Check(72); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	job.Inject = []Injection{{Kind: Corrupt, Rank: 71, Byte: 1<<22 - 1}}
	if err := job.Check(72); err != nil {
		t.Error(err)
	}
}

func TestCountsAreThoseOfNCCLTests(t *testing.T) {
	allreduce, gather := collective.Shape{Reduces: true}, collective.Shape{Recv: collective.PartPerRank}
	rows := Job{Epilogue: "rmsnorm", Row: 64}
	for _, tt := range []struct {
		job   Job
		shape collective.Shape
		d     collective.DType
		bytes int64
		want  int64
	}{
		{Job{}, allreduce, collective.Float, 1023, 255},
		{Job{}, allreduce, collective.Float, 3, 0},
		{Job{}, gather, collective.Float, 1024, 84}, // 85 and a third, in whole vectors
		{Job{}, gather, collective.Half, 1024, 168},
		{Job{}, gather, collective.Int8, 1024, 336},
		{Job{}, gather, collective.Double, 1024, 42},
		{Job{}, gather, collective.Float, 40, 3}, // less than a vector
		{Job{}, gather, collective.Float, 11, 0},
		{Job{Unaligned: true}, gather, collective.Float, 1024, 85},
		{rows, allreduce, collective.Half, 1000, 448},
		{rows, allreduce, collective.Half, 10, 64},
		{Job{}, collective.Shape{Empty: true}, collective.Int8, 10, 0},
	} {
		if got := tt.job.count(tt.shape, 3, tt.d, tt.bytes); got != tt.want {
			t.Errorf("%+v %s, %d bytes: %d, want %d", tt.shape, tt.d.Name, tt.bytes, got, tt.want)
		}
	}
}

func TestWhetherPartsAreCut(t *testing.T) {
	gather := collective.Shape{Recv: collective.PartPerRank}
	for _, tt := range []struct {
		sizes     []int64
		shape     collective.Shape
		unaligned bool
		want      bool
	}{
		{[]int64{1024, 1020}, gather, false, true},
		{[]int64{1020}, gather, true, false},
		{[]int64{1020}, collective.Shape{Reduces: true}, false, false},
		{[]int64{1024, 96, 24}, gather, false, false},
	} {
		job := Job{DTypes: []string{"float"}, Sizes: tt.sizes, Unaligned: tt.unaligned}
		if got := job.Cut(tt.shape, 2); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt, got, tt.want)
		}
	}
}
