package gather

import "gpurun/kernels/collective"

// P2P has every rank store its input to the root: p2p.cu.
func P2P() *collective.Algorithm {
	return collective.DirectCopy(name, "p2p", "barriers, each rank stores its input to the root", collective.WholePart)
}
