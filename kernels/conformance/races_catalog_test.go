package conformance

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// No algorithm of the catalog has a race, and all of each is checked.
func TestCatalogHasNoRace(t *testing.T) {
	t.Parallel()
	for _, c := range kernels.Collectives() {
		for _, a := range c.Algorithms {
			if a.Needs.Library != "" {
				continue
			}
			plain := checkedCalls{algorithm: a, source: ptx.Source, count: 4096, calls: 3, blocks: 2}
			early, replayed := plain, plain
			early.pdl, replayed.pdl, replayed.graph, replayed.calls = true, true, true, 2
			for how, calls := range map[string]checkedCalls{"": plain, ", early": early, ", replayed": replayed} {
				for _, seed := range seeds(8, 0) {
					r, err := newChecker(t, 3).Run(seed, func(r *check.Rank) error { return calls.repeat(r, c.Shape) })
					if err != nil || !r.Clean() {
						t.Errorf("%s %s%s, seed %d: error %v, %v, incomplete %q", c.Name, a.Name, how, seed, err, r.Findings,
							r.Incomplete)
					}
				}
			}
		}
	}
}

// repeat makes calls of any collective, whose parts are small enough for the buffers.
func (c checkedCalls) repeat(r *check.Rank, shape collective.Shape) error {
	const count = 700 // of a part
	comm, err := c.join(r)
	if err != nil {
		return err
	}
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	send, recv := c.layOut(r.World, &collective.Config{})
	if err := s.Upload(comm.Local(send), make([]byte, 4*c.count)); err != nil {
		return err
	}
	if err := r.Meet(); err != nil {
		return err
	}
	call := collective.Call{Send: send, Recv: recv, Count: count, DType: collective.Float, Op: collective.Sum}
	if !shape.Reduces {
		call.Op = collective.None
	}
	if shape.Empty {
		call = barrierCall
	}
	if err := c.enqueue(comm, s, call, func() error { return nil }); err != nil {
		return err
	}
	return errors.Join(s.Synchronize(context.Background()), comm.Err(), r.Meet(), comm.Close())
}

// Without griddepcontrol.wait, kernels that are launched early race with the ones before them.
func TestRemovedWaitsForThePriorGridAreFound(t *testing.T) {
	t.Parallel()
	calls := checkedCalls{algorithm: allreduce.OneShot(), count: 1500, calls: 3, blocks: 2, pdl: true}
	calls.source = func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		return bytes.ReplaceAll(text, []byte("griddepcontrol.wait;"), nil), err
	}
	found := map[string]int{}
	checker := newChecker(t, 2)
	for seed := range uint64(3) {
		r, _ := checker.Run(seed, func(r *check.Rank) error { return calls.repeat(r, allreduce.Collective().Shape) })
		for _, f := range r.Findings {
			found[string(f.Kind)+" "+f.Cause]++
		}
	}
	if found["race "+check.PriorNotWaited] == 0 {
		t.Errorf("found %v", found)
	}
}
