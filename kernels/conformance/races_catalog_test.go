package conformance

import (
	"context"
	"errors"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels"
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
			calls := checkedCalls{algorithm: a, source: ptx.Source, count: 4096, calls: 3, blocks: 2}
			for _, seed := range seeds(8, 0) {
				r, err := newChecker(t, 3).Run(seed, func(r *check.Rank) error { return calls.repeat(r, c.Shape) })
				if err != nil || !r.Clean() {
					t.Errorf("%s %s, seed %d: error %v, %v, incomplete %q", c.Name, a.Name, seed, err, r.Findings, r.Incomplete)
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
	if err := r.Meet(); err != nil {
		return err
	}
	send, recv := c.layOut(r.World, &collective.Config{})
	call := collective.Call{Send: send, Recv: recv, Count: count, DType: collective.Float, Op: collective.Sum}
	if !shape.Reduces {
		call.Op = collective.None
	}
	if shape.Empty {
		call = barrierCall
	}
	for range c.calls {
		if err := c.algorithm.Enqueue(comm, s, call); err != nil {
			return err
		}
	}
	return errors.Join(s.Synchronize(context.Background()), comm.Err(), comm.Close())
}
