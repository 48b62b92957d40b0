package broadcast

import "gpurun/kernels/collective"

// Multimem stores the root's input to the multicast address: multimem.cu.
func Multimem() *collective.Algorithm {
	const algorithm = "multimem"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "one store that the switch delivers to all",
		Kernels:    collective.Copies(name, algorithm, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Multicast: true},
		Blocks:     32,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
