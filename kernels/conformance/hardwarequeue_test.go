package conformance

import (
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// Streams may share a queue of the hardware, which runs in order. Everything that a copy waits for must therefore be
// enqueued before the copy, here and on the peers. The test puts a gather's copies on the stream of its kernel, and the
// calls must still end.
func TestGatherInOneQueue(t *testing.T) {
	t.Parallel()
	const world = 3
	for _, major := range []int{8, 9} {
		p := matmul.Problem{M: world, N: 8, K: 8, DType: collective.Half}
		calls := gathers(p, world, 4, uint64(major))
		groupFor(world, sim.New(1, sim.Options{Major: major}), calls).run(t, func(m *member) error {
			r, err := newRunner(m)
			if err != nil {
				return err
			}
			r.Copies = r.Main
			return runMatmuls(m, r, calls)
		})
	}
}
