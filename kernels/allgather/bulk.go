package allgather

import "gpurun/kernels/collective"

// Bulk stores this rank's part to all ranks by bulk copies: bulk.cu.
func Bulk() *collective.Algorithm {
	return collective.BulkCopy(name, "bulk", "barriers, every rank stores its part to all by bulk copies; largest sizes",
		32, collective.WholePart)
}
