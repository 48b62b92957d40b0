package conformance

import (
	"bytes"
	"fmt"
	"testing"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// PyTorch's cases of its symmetric-memory collectives: input and output begin at some alignment in larger buffers,
// whose other bytes do not change. All ranks get the same bits if they get the same elements.
func TestPyTorchGrid(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range sample([]int{2, 4, 8}, 1) {
		pool := newRankPool(t, gridGroup(t, world))
		for _, name := range []string{"allreduce", "allgather", "reducescatter"} {
			for number, c := range gridCalls(t, world, name) {
				if onGPU(t) || world == 4 || inShard(number) {
					pytorchCases(t, pool, c)
				}
			}
		}
	}
}

func pytorchCases(t *testing.T, pool *rankPool, c testCall) {
	t.Helper()
	c.in.Seed, c.in.Pattern = 12, reference.Random
	for _, d := range []collective.DType{collective.Float, collective.BFloat16} {
		if !c.algorithm.Supports(d, c.in.Op, collective.NoEpilogue) {
			t.Fatalf("%s %s has no kernel for %s", c.algorithm.Collective, c.algorithm.Name, d.Name)
		}
		for _, alignment := range sample([]int64{4, 8, 16}, 0, 2) {
			for _, size := range sample([]int64{0, 4, 8192, 8196}, 1, 3) {
				// An offset that is no multiple of more than the alignment.
				c.in.DType, c.count, c.offset = d, size/int64(d.Size), alignment
				name := fmt.Sprintf("%d_ranks/%s/%s/%s/alignment=%d/%d_bytes", c.in.World,
					c.collective.Name, c.algorithm.Name, d.Name, alignment, size)
				t.Run(name, func(t *testing.T) {
					got := make(results, c.in.World)
					pool.run(t, got.of(c))
					if c.collective.Name != "reducescatter" {
						sameBits(t, got)
					}
				})
			}
		}
	}
}

// sameBits fails the test if the ranks' results differ.
func sameBits(t *testing.T, r results) {
	t.Helper()
	for rank, got := range r {
		if !bytes.Equal(got, r[0]) {
			t.Errorf("ranks 0 and %d have other bits", rank)
		}
	}
}
