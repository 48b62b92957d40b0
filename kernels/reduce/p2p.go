package reduce

import "gpurun/kernels/collective"

// P2P reduces a share on every rank except the root and pushes it to the root. Of two ranks, the
// root reduces everything: p2p.cu.
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
