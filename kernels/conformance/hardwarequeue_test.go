package conformance

import (
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// Streams may share a queue of the hardware, where nothing overtakes what waits at its head. So whatever a copy waits
// for is enqueued before it, here and on the peers: were a gather's copies on the stream of its kernel, calls would end
// all the same.
func TestGatherInOneQueue(t *testing.T) {
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
