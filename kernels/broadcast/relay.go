package broadcast

import "gpurun/kernels/collective"

// Relay has the root send each chunk to one rank, which sends it to all others, by bulk
// copies: relay.cu.
func Relay() *collective.Algorithm {
	a := collective.BulkCopy(name, "relay",
		"each chunk from the root to one rank, and from there to all others, by bulk copies; largest sizes", 64,
		collective.WholePart)
	a.Needs.Atomics = true
	return a
}
