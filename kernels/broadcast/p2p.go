package broadcast

import "gpurun/kernels/collective"

// P2P has every rank but the root fetch a share and push it to the
// others: p2p.cu.
func P2P() *collective.Algorithm {
	return collective.DirectCopy(name, "p2p", "each rank fetches a share from the root and pushes it",
		collective.ShareBesideRoot)
}
