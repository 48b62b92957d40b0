package reducescatter

import "gpurun/kernels/collective"

// Pull loads the own part of all inputs: pull.cu.
func Pull() *collective.Algorithm {
	const algorithm = "pull"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, every rank loads its part from all",
		Kernels:    collective.Reductions(name, algorithm, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     96,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
