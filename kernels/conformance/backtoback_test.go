package conformance

import (
	"errors"
	"fmt"
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels/matmul"
)

// Calls with matrices of their own follow each other without a wait. With PDL, a kernel may be launched before the
// previous one has ended. The calls share staging, counters and words of progress.
func TestFusedMatmulsBackToBack(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(4, 1) {
		world := 2 + int(seed/2)
		p := matmul.Problem{M: 70 * int64(world), N: 40, K: 72, DType: matmul.DTypes()[seed%2]}
		var calls []matmulCall
		for range sample([]int{1, 2, 3}, 0, 1) {
			calls = append(calls, fusedCalls(p, world, seed)...)
		}
		backend := sim.New(1, sim.Options{Seed: seed + 1, Major: 9})
		groupFor(world, backend, calls).run(t, func(m *member) error {
			r, err := newRunner(m)
			if err != nil {
				return err
			}
			return runBackToBack(m, r, calls)
		})
	}
}

// runBackToBack is runMatmuls for calls with matrices of their own.
func runBackToBack(m *member, r *matmul.Runner, calls []matmulCall) error {
	layouts, at := make([]layout, len(calls)), m.send
	for i, c := range calls {
		layouts[i] = c.layout(at, m.sharedLayout())
		at += layouts[i].bytes
		if err := errors.Join(c.prepare(m, layouts[i]), r.Prepare(c.algorithm, layouts[i].call)); err != nil {
			return err
		}
	}
	m.meet() // no rank loads a module while kernels wait: see loadKernels
	for i, c := range calls {
		if err := r.Enqueue(c.algorithm, layouts[i].call); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	if err := m.synchronize(); err != nil {
		return fmt.Errorf("%s and %d more: %w", calls[0], len(calls)-1, err)
	}
	for i, c := range calls {
		if err := errors.Join(c.judge(m, layouts[i]), layouts[i].checkGaps(m)); err != nil {
			return err
		}
	}
	return nil
}
