package allgather

import "gpurun/kernels/collective"

// Pull loads every peer's part: pull.cu.
func Pull() *collective.Algorithm {
	const algorithm = "pull"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, load all peers' parts",
		Kernels:    collective.Copies(name, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     64,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
