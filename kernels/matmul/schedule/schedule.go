// Package schedule decides which cluster of blocks multiplies which tile of a product, and when tiles are shared: the
// arithmetic of the host for the tile scheduler of the kernels (kernels/matmul/cuda/tile_scheduler.cuh). It calls no
// device.
//
// Tiles are multiplied in waves: in each, every cluster of a persistent grid multiplies one tile. Two decisions are
// made here.
//
//   - Split-K of the last wave ([LastWave], [SplitK]). Where tiles are no multiple of clusters, some clusters have
//
// none in
//
//	  the last wave (wave quantization). They multiply pieces of the others' tiles, some slices of K each. Pieces are as
//	  long as they can be without the tile's own cluster waiting for them.
//	- Placement by GPC ([Placement]). Clusters on one GPC of the GPU begin with tiles of the same row, whose operands L2
//	  then reads once for several of them.
package schedule

const (
	// MostClusters is how many clusters a kernel may have; no GPU of compute capability 9.0 has multiprocessors for more.
	MostClusters = 72
	// rowsInGroup is how many rows of tiles are taken before the next column: kGroup in tile_order.cuh.
	rowsInGroup = 8
)
