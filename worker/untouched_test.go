package worker

import (
	"errors"
	"testing"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/worker/process/report"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// pulls is a job for pullOf of calls with these sizes.
func pulls(sizes ...int64) workload.Job {
	return workload.Job{
		Collective: "allreduce", Algorithms: []string{"oneshot"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes: sizes, Iterations: 1, Verify: true,
	}
}

// A store behind the output or in front of it is found, though all elements may be right.
func TestStoresOutsideAreFound(t *testing.T) {
	for want, tt := range map[string]struct{ shift, more int64 }{
		"4 bytes behind the output have changed, the nearest at a distance of 3":      {0, 4}, // NaN, 0x7fffffff
		"8 bytes in front of the output have changed, the nearest at a distance of 0": {-2, 0},
		"4 bytes behind the output have changed, the nearest at a distance of 400":    {164, -63},
	} {
		a, starts := pullOf(), &together{world: 2}
		a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
			starts.meet()
			shape := cudart.Launch{Blocks: 1, Threads: int(call.Count + tt.more)}
			at := 4 * tt.shift
			return launchOwn(c, s, a, shape, uint64(c.Peer(0, call.Send)), uint64(c.Peer(1, call.Send)),
				uint64(c.Local(call.Recv+at)))
		}
		g := ranks{world: 2, own: a, source: func(string) ([]byte, error) { return []byte(pull), nil }}
		_, errs := g.run(t, pulls(256))
		var outside *verify.OutsideError
		err := errors.Join(errs...)
		if !errors.As(err, &outside) || outside.Error() != "a call wrote outside its buffers: "+want {
			t.Errorf("got %v, want %s", err, want)
		} else if class := Explain(outside).Class; class != report.WrongData {
			t.Errorf("it counts as %s", class)
		}
	}
}

// A call that copies what an earlier one has computed, of the same size and kind, is wrong: inputs are new each time.
func TestResultsOfEarlierCallsAreWrong(t *testing.T) {
	const bytes, callsOfCase = 256, 3 // before timing, timed, after timing
	type member struct{ calls int64 }
	a, starts, members := pullOf(), &together{world: 2}, [2]member{}
	a.ScratchBytes = func(int, int64) int64 { return callsOfCase * bytes }
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		starts.meet()
		n := &members[c.Rank()].calls
		out, kept := c.Local(call.Recv), c.Local(c.Scratch()+*n%callsOfCase*bytes)
		if *n++; *n > callsOfCase {
			return s.Copy(out, kept, bytes)
		}
		err := launchOwn(c, s, a, cudart.Launch{Blocks: 1, Threads: int(call.Count)}, uint64(c.Peer(0, call.Send)),
			uint64(c.Peer(1, call.Send)), uint64(out))
		return errors.Join(err, s.Copy(kept, out, bytes))
	}
	g := ranks{world: 2, own: a, source: func(string) ([]byte, error) { return []byte(pull), nil }}
	results := g.mustRun(t, pulls(bytes, bytes))
	const all = 2 * 2 * bytes / 4 // on both ranks, before timing and after
	if len(results) != 2 || *results[0].Wrong != 0 || *results[1].Wrong != all {
		t.Errorf("want %d wrong in the second result: %+v", all, results)
	}
}
