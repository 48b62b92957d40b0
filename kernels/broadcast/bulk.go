package broadcast

import "gpurun/kernels/collective"

// Bulk has every rank but the root fetch a share and push it to the
// others by bulk copies: bulk.cu.
func Bulk() *collective.Algorithm {
	return collective.BulkCopy(name, "bulk",
		"each rank fetches a share from the root and pushes it, by bulk copies; largest sizes", 32,
		collective.ShareBesideRoot)
}
