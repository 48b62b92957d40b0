package matmul

import (
	"gpurun/kernels/matmul/schedule"
)

// The tiles of wgmma.cu.
const (
	wgmmaCluster     = 2                  // blocks that share columns of B
	wgmmaRows        = 128 * wgmmaCluster // of a cluster's tiles
	wgmmaPartRows    = 64                 // of a warpgroup's part of a tile
	wgmmaPartWarps   = 4
	wgmmaParts       = wgmmaRows / wgmmaPartRows
	wgmmaSlice       = boxColumns // elements of k in a stage
	wgmmaMostColumns = 256
	wgmmaMostShared  = 227 << 10 // bytes of a block
)

// clustersOn is how many clusters a kernel has on a device with so many multiprocessors, each of which takes a block.
func clustersOn(sms int) int64 { return int64(max(1, min(sms/wgmmaCluster, schedule.MostClusters))) }
