package scatter

import "gpurun/kernels/collective"

// P2P has every rank load its part from the root: p2p.cu.
func P2P() *collective.Algorithm {
	return collective.DirectCopy(name, "p2p", "barriers, each rank loads its part from the root", collective.WholePart)
}
