package allgather

import "gpurun/kernels/collective"

// Bulk stores the own part to all by bulk copies: bulk.cu.
func Bulk() *collective.Algorithm {
	return collective.BulkCopy(name, "bulk", "barriers, store the own part to all by bulk copies; largest sizes", 32,
		collective.WholePart)
}
