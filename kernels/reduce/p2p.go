package reduce

import "gpurun/kernels/collective"

// P2P has every rank but the root reduce a share and push it to the root, or of two
// ranks the root reduce everything: p2p.cu.
func P2P() *collective.Algorithm {
	const algorithm = "p2p"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank reduces a share and pushes it to the root",
		Kernels:    collective.Reductions(name, algorithm, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     96,
	}
	a.Enqueue = collective.OneLaunch(a, collective.ShareBesideRoot)
	return a
}
