package broadcast

import "gpurun/kernels/collective"

// Chain has every rank pass the root's data on to the next one, chunk by chunk, by bulk
// copies: chain.cu.
func Chain() *collective.Algorithm {
	a := collective.BulkCopy(name, "chain", "from rank to rank, chunk by chunk, by bulk copies; largest sizes", 64,
		collective.WholePart)
	a.Needs.Atomics = true
	return a
}
