package allgather

import "gpurun/kernels/collective"

// Push stores the own part to all: push.cu.
func Push() *collective.Algorithm {
	const algorithm = "push"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, store the own part to all",
		Kernels:    collective.Copies(name, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     64,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
