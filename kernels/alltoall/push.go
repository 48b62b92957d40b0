package alltoall

import "gpurun/kernels/collective"

// Push stores every peer's part to it: push.cu.
func Push() *collective.Algorithm {
	const algorithm = "push"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, store each part to its rank",
		Kernels:    collective.Copies(name, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, SeparateOutput: true},
		Blocks:     64,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
