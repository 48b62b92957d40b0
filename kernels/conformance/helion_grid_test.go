package conformance

import (
	"fmt"
	"testing"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// Helion's case of allreduce: 16384 elements of bfloat16 over all ranks.
func TestHelionGrid(t *testing.T) {
	parallelInSimulator(t)
	const elements = 16384
	for _, world := range []int{2, 4, 8} {
		pool := newRankPool(t, gridGroup(t, world))
		for _, c := range gridCalls(t, world, "allreduce") {
			c.in.DType, c.count = collective.BFloat16, elements/int64(world)
			c.in.Seed, c.in.Pattern = 16, reference.Random
			t.Run(fmt.Sprintf("%d_ranks/%s", world, c.algorithm.Name), func(t *testing.T) {
				got := make(results, world)
				pool.run(t, got.of(c))
				sameBits(t, got)
			})
		}
	}
}
