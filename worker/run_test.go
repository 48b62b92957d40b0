package worker

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
	"gpurun/worker/workload"
)

// everyAlgorithm is a job of all algorithms of a collective that are gpurun's own.
func everyAlgorithm(c *collective.Collective) workload.Job {
	job := workload.Job{
		Collective: c.Name, DTypes: []string{"half"}, Ops: []string{"none"}, Sizes: []int64{0, 1000, 10000},
		Iterations: 1, Verify: true, Seed: 3, Root: 1,
	}
	if c.Shape.Reduces {
		job.Ops = []string{"sum", "max"}
	}
	for _, a := range c.Algorithms {
		if a.Needs.Library == "" {
			job.Algorithms = append(job.Algorithms, a.Name)
		}
	}
	return job
}

func TestEveryAlgorithmIsVerified(t *testing.T) {
	t.Parallel()
	for _, c := range kernels.Collectives() {
		t.Run(c.Name, func(t *testing.T) {
			job := everyAlgorithm(c)
			seen := map[string]int{}
			for _, r := range (ranks{world: 3}).mustRun(t, job) {
				seen[r.Algorithm]++
				if *r.Wrong != 0 {
					t.Errorf("%v", r.Complaints())
				}
				if (c.Shape.Root != collective.NoRoot) != (r.Root == 1) {
					t.Errorf("%s: root %d", r, r.Root)
				}
			}
			for _, a := range c.Algorithms {
				want := len(job.Ops) * len(job.Sizes) * 2
				if a.Needs.Library != "" {
					want = 0
				} else if c.Shape.Empty {
					want = 1
				} else if a.Needs.SeparateOutput || c.Name == "alltoall" {
					want /= 2
				}
				if seen[a.Name] != want {
					t.Errorf("%s: %d results, want %d", a.Name, seen[a.Name], want)
				}
			}
		})
	}
}

// A sweep of several cycles runs its cases in the same order each time, and its progress
// counts all of them.
func TestCyclesRepeatTheSweep(t *testing.T) {
	job := workload.Job{
		Collective: "allgather", Algorithms: []string{workload.Auto}, DTypes: []string{"float"}, Ops: []string{"none"},
		Sizes:  []int64{64, 128},
		Cycles: 3, Iterations: 1, Verify: true,
	}
	messages, errs := ranks{world: 2}.messages(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		if m.Progress != nil {
			got = append(got, fmt.Sprint(m.Progress.Done, " of ", m.Progress.Total))
		}
	}
	for _, u := range updates(t, messages) {
		if u.Result != nil {
			got = append(got, fmt.Sprint(u.Result.Bytes, " ", u.Result.InPlace))
		}
	}
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprint(i, " of ", 12))
	}
	want = append(want, slices.Repeat([]string{"64 false", "64 true", "128 false", "128 true"}, 3)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A size that the ranks do not divide is measured a little smaller, and is still
// known by what was asked for.
func TestAskedSizeIsKept(t *testing.T) {
	job := workload.Job{
		Collective: "allgather", Algorithms: []string{workload.Auto}, DTypes: []string{"float"}, Ops: []string{"none"},
		Sizes: []int64{960, 1024}, Iterations: 1,
	}
	asked := map[int64]int64{}
	for _, r := range (ranks{world: 3}).mustRun(t, job) {
		asked[r.Bytes] = r.AskedBytes
	}
	if diff := cmp.Diff(map[int64]int64{960: 0, 1008: 1024}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestUnalignedAndGraphs(t *testing.T) {
	t.Parallel()
	for _, c := range kernels.Collectives() {
		job := everyAlgorithm(c)
		job.Unaligned, job.GraphReplays, job.DTypes, job.Sizes = true, 2, []string{"int8"}, []int64{3001}
		op, _ := collective.ParseOp(job.Ops[0])
		call := collective.Call{DType: collective.Int8, Op: op}
		job.Algorithms = nil
		for _, a := range c.Algorithms {
			if a.Needs.Library == "" && a.Check(call, 2) == nil {
				job.Algorithms = append(job.Algorithms, a.Name)
			}
		}
		if len(job.Algorithms) < 2 {
			t.Errorf("%s of bytes: %v", c.Name, job.Algorithms)
		}
		for _, r := range (ranks{world: 2}).mustRun(t, job) {
			if *r.Wrong != 0 || r.Mode != "graph" {
				t.Errorf("%s %s: %v", r, r.Mode, r.Complaints())
			}
		}
	}
}

func TestEpiloguesAreVerified(t *testing.T) {
	for _, e := range collective.EpilogueKinds() {
		job := workload.Job{
			Collective: "allreduce", Algorithms: []string{"twoshot"}, DTypes: []string{"float"}, Ops: []string{"sum"},
			Sizes: []int64{10, 5000}, Iterations: 1, Verify: true,
			Epilogue: string(e), Row: 64, Scale: 0.3, Epsilon: 1e-5,
		}
		if e == collective.RMSNorm {
			job.Algorithms, job.DTypes = []string{"oneshot", "twoshot"}, []string{"half"}
		}
		for _, r := range (ranks{world: 2}).mustRun(t, job) {
			if *r.Wrong != 0 || r.Epilogue != string(e) || e == collective.RMSNorm && r.Count%64 != 0 {
				t.Errorf("%s of %d: %v", r, r.Count, r.Complaints())
			}
		}
	}
}

// sabotaged is what ships, with the kernels of a module that do nothing.
func sabotaged(module string) collective.Source {
	body := regexp.MustCompile(`(?s)\n\{\n.*?\n\}`)
	return func(name string) ([]byte, error) {
		text, err := ptx.Source(name)
		if err == nil && name == module {
			text = body.ReplaceAll(text, []byte("\n{\n\tret;\n}"))
		}
		return text, err
	}
}

// A barrier that does not wait is found by every rank except the late one.
func TestBarrierThatDoesNothingIsCaught(t *testing.T) {
	for algorithm, module := range map[string]string{"flag": "barrier_flag_sm_90", "multimem": "barrier_multimem_sm_90"} {
		job := workload.Job{Collective: "barrier", Algorithms: []string{algorithm}, Iterations: 1, Verify: true}
		// Twice, each of 3 ranks is late once, and the two others copy its old token.
		const least = 2 * 3 * 2
		results := (ranks{world: 3, source: sabotaged(module)}).mustRun(t, job)
		if len(results) != 1 || *results[0].Wrong < least {
			t.Errorf("%s: %+v", algorithm, results)
		}
		if n := wrong((ranks{world: 3}).mustRun(t, job)); n != 0 {
			t.Errorf("%s: %d wrong", algorithm, n)
		}
	}
}

// A collective that moves nothing is caught on every rank that has an output.
func TestCollectiveThatDoesNothingIsCaught(t *testing.T) {
	for _, tt := range []struct {
		collective, algorithm, module string
		outputs                       int // that are wrong
	}{
		{"allgather", "push", "allgather_push", 3},
		{"broadcast", "p2p", "broadcast_p2p", 3},
		{"gather", "p2p", "gather_p2p", 1},
		{"scatter", "p2p", "scatter_p2p", 3},
		{"alltoall", "push", "alltoall_push", 3},
	} {
		what := must(kernels.Find(tt.collective))
		job := everyAlgorithm(what)
		job.Algorithms, job.Sizes = []string{tt.algorithm}, []int64{1000}
		for _, r := range (ranks{world: 3, source: sabotaged(tt.module)}).mustRun(t, job) {
			ranks := map[int]bool{}
			for _, m := range r.Mismatches {
				ranks[m.Rank] = true
			}
			outputs := tt.outputs
			if r.InPlace && what.Shape.Root == collective.RootIsSource { // which has its output already
				outputs--
			}
			if len(ranks) != outputs {
				t.Errorf("%s: found on %v", r, ranks)
			}
		}
	}
}

// Both outputs of rmsnorm are judged.
func TestEpilogueThatDoesNothingIsCaught(t *testing.T) {
	job := workload.Job{
		Collective: "allreduce", Algorithms: []string{"oneshot"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes: []int64{512}, Iterations: 1, Verify: true, Epilogue: "rmsnorm", Row: 64, Epsilon: 1e-5,
	}
	for _, r := range (ranks{world: 2, source: sabotaged("allreduce_oneshot_float_rmsnorm")}).mustRun(t, job) {
		if want := 2 * 2 * 2 * r.Count; *r.Wrong != want { // ranks, times, outputs
			t.Errorf("%s: %d wrong, want %d", r, *r.Wrong, want)
		}
	}
}

func must[T any](x T, _ bool) T { return x }

func TestInjectedCorruptionIsFound(t *testing.T) {
	for _, c := range kernels.Collectives() {
		in, index := workload.Injection{Kind: workload.Corrupt, Rank: 1, Byte: 601}, int64(300) // of half
		if c.Shape.Empty {
			in.Byte, index = 9, 1 // of tokens
		}
		job := everyAlgorithm(c)
		job.Algorithms, job.Inject = job.Algorithms[:1], []workload.Injection{in}
		results := (ranks{world: 2}).mustRun(t, job)
		if n := wrong(results); n != 1 {
			t.Errorf("%s: %d wrong, want 1", c.Name, n)
		}
		for _, r := range results {
			for _, m := range r.Mismatches {
				if m.Rank != 1 || m.Index != index || m.Of <= index {
					t.Errorf("%s: %+v, want element %d", c.Name, m, index)
				}
			}
		}
	}
}

// Corruption of any byte is also found if results need not match to the bit.
func TestInjectedCorruptionOfRoundedResultsIsFound(t *testing.T) {
	for b := range int64(4) {
		job := workload.Job{
			Collective: "allreduce", Algorithms: []string{"oneshot"}, DTypes: []string{"float"}, Ops: []string{"sum"},
			Sizes:      []int64{512},
			Iterations: 1, Verify: true, Epilogue: "rmsnorm", Row: 64, Epsilon: 1e-5,
			Inject: []workload.Injection{{Kind: workload.Corrupt, Rank: 1, Byte: b}},
		}
		if n := wrong((ranks{world: 2}).mustRun(t, job)); n != 1 {
			t.Errorf("byte %d: %d wrong, want 1", b, n)
		}
	}
}

// disguised is a simulator whose devices are something else besides.
type disguised struct {
	cudart.Backend
	as func(*sim.Device) cudart.Device
}

func (b disguised) Open(ordinal int) (cudart.Device, error) {
	d, err := b.Backend.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return b.as(d.(*sim.Device)), nil
}

// stranger is a device that says that it cannot reach one of its peers.
type stranger struct {
	*sim.Device
	rank int
}

func (d stranger) CanAccessPeer(peer cudart.Info) (bool, error) {
	return d.rank != 1 || peer.Ordinal != 2, nil
}

// refuser finds out only on mapping that it cannot reach its peers.
type refuser struct{ *sim.Device }

func (refuser) ExportIPC(cudart.DevicePtr) (handle [64]byte, err error) { return handle, nil }

func (refuser) ImportIPC([64]byte) (cudart.DevicePtr, error) {
	return 0, &cudart.Error{Op: "cuIpcOpenMemHandle", Code: 217}
}

func (refuser) CloseIPC(cudart.DevicePtr) error { return nil }

// Without peer access, "auto" is naive in host memory, and Why gives the reason. Algorithms that
// need peer access are refused by name.
func TestWithoutPeerAccess(t *testing.T) {
	t.Parallel()
	all := kernels.Collectives()
	simulator := func(int) cudart.Backend { return sim.New(3, sim.Options{}) }
	strangers := func(rank int) cudart.Backend {
		return disguised{simulator(rank), func(d *sim.Device) cudart.Device { return stranger{d, rank} }}
	}
	refusers := func(rank int) cudart.Backend {
		return disguised{simulator(rank), func(d *sim.Device) cudart.Device { return refuser{d} }}
	}
	for name, tt := range map[string]struct {
		backend     func(rank int) cudart.Backend
		p2p         string
		why         string
		collectives []*collective.Collective
	}{
		"off":     {simulator, "off", "p2p is off", all},
		"asked":   {strangers, "", "the GPU of rank 1 cannot reach the GPU of rank 2", all[:2]},
		"refused": {refusers, "auto", "cannot reach the GPU of rank", all[:2]},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range tt.collectives {
				job := everyAlgorithm(c)
				job.Algorithms, job.P2P, job.Sizes = []string{"auto"}, tt.p2p, []int64{1000}
				for _, r := range (ranks{world: 3, backend: tt.backend}).mustRun(t, job) {
					if *r.Wrong != 0 || r.Algorithm != "naive" && !c.Shape.Empty || !strings.Contains(r.Why, tt.why) {
						t.Errorf("%s: %s: %v", r, r.Why, r.Complaints())
					}
				}
			}
			job := everyAlgorithm(must(kernels.Find("allreduce")))
			job.Algorithms, job.P2P = []string{"oneshot_ll", "oneshot"}, tt.p2p
			if results := (ranks{world: 3, backend: tt.backend}).mustRun(t, job); wrong(results) != 0 {
				t.Error("packets or scratch in memory of the host go wrong")
			}
			job.Algorithms, job.Optional = []string{"twoshot", "naive"}, []string{"twoshot"}
			for _, r := range (ranks{world: 3, backend: tt.backend}).mustRun(t, job) {
				if r.Algorithm != "naive" {
					t.Errorf("%s is not left out", r)
				}
			}
			job.Algorithms = []string{"twoshot"} // nothing is left
			_, errs := ranks{world: 3, backend: tt.backend}.run(t, job)
			for rank, err := range errs {
				if !errors.As(err, new(*workload.Unavailable)) || !strings.Contains(err.Error(), tt.why) ||
					!strings.Contains(err.Error(), "naive") {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
		})
	}
}

// An algorithm together with a setting that rules it out is a usage error, reported before anything
// starts.
func TestContradictionsAreRefused(t *testing.T) {
	for want, job := range map[string]workload.Job{
		"allreduce twoshot needs peer access, and --p2p is off; naive or oneshot or oneshot_ll or oneshot_lamport or " +
			"twoshot_lamport can do without": {
			Collective: "allreduce", Algorithms: []string{"twoshot"}, P2P: workload.Off,
		},
		"allreduce multimem_oneshot needs a multicast address, and --multicast is off": {
			Collective: "allreduce", Algorithms: []string{"multimem_oneshot"}, Multicast: workload.Off,
		},
		"reduce p2p has no kernel for programmatic dependent launch of float sum: leave --pdl at auto": {
			Collective: "reduce", Algorithms: []string{"p2p"}, PDL: workload.On,
		},
	} {
		job.DTypes, job.Ops, job.Sizes = []string{"float"}, []string{"sum"}, []int64{64}
		err := job.Check(2)
		if !errors.As(err, new(*workload.UsageError)) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		job.Optional = job.Algorithms
		if err := job.Check(2); err != nil && job.Algorithms[0] != workload.Auto {
			t.Errorf("optional, and refused: %v", err)
		}
	}
}

// Cases that trial calls find too slow are skipped, the same on all ranks.
func TestSlowCasesAreSkipped(t *testing.T) {
	job := everyAlgorithm(must(kernels.Find("allreduce")))
	job.Algorithms, job.Ops, job.Sizes, job.SkipSlowerThan = []string{"oneshot", "naive", "twoshot"}, []string{"sum"},
		[]int64{1 << 10}, 1e-9
	results := (ranks{world: 2}).mustRun(t, job)
	if len(results) != 2 || results[0].Algorithm != "oneshot" || results[1].Algorithm != "oneshot" {
		t.Errorf("%v", results)
	}
	job.SkipSlowerThan = 1e9
	if results := (ranks{world: 2}).mustRun(t, job); len(results) != 6 {
		t.Errorf("%v", results)
	}
}
