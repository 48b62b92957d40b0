package reducescatter

import "gpurun/kernels/collective"

// Multimem loads the own part of the reduction from the multicast
// address: multimem.cu.
func Multimem() *collective.Algorithm {
	const algorithm = "multimem"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "every rank loads its part of the sum from the switch",
		Kernels:    collective.Multimem(name, algorithm, algorithm),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Multicast: true},
		Blocks:     32,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
