package worker

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// The phases of rank 0 are those of its job, in their order, without a gap.
func TestPhasesAreNoted(t *testing.T) {
	always := []phases.Phase{
		phases.Init, phases.Open, phases.Join, phases.Compare, phases.Settle, phases.Allocate, phases.Exchange, phases.Map,
		phases.Enter, phases.Ready, phases.Load, phases.Verify, phases.Measure, phases.Cases, phases.Leave, phases.Close,
	}
	usual := workload.Job{
		Collective: "allreduce", Algorithms: []string{workload.Auto}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes:      []int64{64, 1 << 16},
		Iterations: 1, Verify: true,
	}
	rounds, unverified := usual, usual
	rounds.Passes = 1
	unverified.Verify = false
	products := workload.Job{
		Collective: "allgather-matmul", Algorithms: []string{workload.Auto}, DTypes: []string{"half"}, Iterations: 1,
		Verify:   true,
		Products: &workload.Products{M: []int64{64}, N: []int64{16}, K: []int64{16}, Splits: []int{1}},
	}
	for name, job := range map[string]workload.Job{
		"usual": usual, "rounds": rounds, "unverified": unverified, "products": products,
	} {
		t.Run(name, func(t *testing.T) {
			var got []phases.Phase
			var last phases.Span
			for _, s := range phasesOf(t, ranks{world: 2}, job) {
				switch {
				case s.Concurrent:
					continue
				case last.End != 0 && s.Begin != last.End, s.End < s.Begin:
					t.Errorf("%+v follows %+v", s, last)
				}
				got, last = append(got, s.Phase), s
			}
			want := always
			if !job.Verify {
				want = without(want, phases.Verify)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func without(all []phases.Phase, out phases.Phase) (rest []phases.Phase) {
	for _, p := range all {
		if p != out {
			rest = append(rest, p)
		}
	}
	return rest
}

// phasesOf does a job that must not fail and returns what rank 0 noted.
func phasesOf(t *testing.T, g ranks, job workload.Job) []phases.Span {
	t.Helper()
	g.phases = true
	messages, errs := g.messages(t, job)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, u := range updates(t, messages) {
		if u.Phases != nil {
			return u.Phases
		}
	}
	t.Fatal("rank 0 reports no phases")
	return nil
}

// telling says when the driver is initialized.
type telling struct {
	cudart.Backend
	begun chan struct{}
}

func (b telling) Init() error {
	close(b.begun)
	return b.Backend.Init()
}

// A rank initializes the driver while it waits in the rendezvous. In this test the other rank joins
// only once the first one initializes the driver.
func TestRanksJoinWhileTheyOpenTheirDevices(t *testing.T) {
	begun := make(chan struct{})
	g := ranks{
		world: 2,
		backend: func(rank int) cudart.Backend {
			if rank == 0 {
				return telling{sim.New(2, sim.Options{}), begun}
			}
			return sim.New(2, sim.Options{})
		},
		before: func(rank int) {
			if rank == 1 {
				<-begun
			}
		},
	}
	job := workload.Job{
		Collective: "broadcast", Algorithms: []string{workload.Auto}, DTypes: []string{"float"}, Ops: []string{"none"},
		Sizes: []int64{64}, Iterations: 1,
	}
	for _, s := range phasesOf(t, g, job) {
		if s.Phase == phases.Join && s.Concurrent {
			return
		}
	}
	t.Error("nothing is noted beside")
}
