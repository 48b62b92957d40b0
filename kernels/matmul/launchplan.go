package matmul

import (
	"gpurun/cudart"
)

// launchPlan is a kernel with its launch shape and parameters.
type launchPlan struct {
	gemm   *GEMM
	kernel cudart.Kernel
	shape  cudart.Launch
	Params
}

// segment is how many tiles of a shard are made before those of the next, where products are pushed and sums go
// everywhere: see InterleavedOrder in cuda/tile_order.cuh. The segments of all shards together are one wave, so that
// products have a wave's time to arrive before their owner's tiles wait for them.
func (l *launchPlan) segment(p Problem, world int) uint32 {
	ofShard := l.gemm.partsOfShard(p, world) / l.gemm.TileParts
	return uint32(tiles(ofShard*int64(l.shape.Blocks), l.gemm.Tiles(p, world)))
}
