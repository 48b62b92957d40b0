package broadcast

import "gpurun/kernels/collective"

// P2P has every rank but the root fetch a share and push it to the
// others: p2p.cu.
func P2P() *collective.Algorithm {
	const algorithm = "p2p"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank fetches a share from the root and pushes it",
		Kernels:    collective.Copies(name, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     64,
	}
	a.Enqueue = collective.OneLaunch(a, collective.ShareBesideRoot)
	return a
}
