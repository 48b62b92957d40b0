package scatter

import "gpurun/kernels/collective"

// P2P has every rank load its part from the root: p2p.cu.
func P2P() *collective.Algorithm {
	const algorithm = "p2p"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, each rank loads its part from the root",
		Kernels:    collective.Copies(name, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     64,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
