package allreduce

import "gpurun/kernels/collective"

// MultimemOneShot loads the reduction from the multicast address: multimem_oneshot.cu.
func MultimemOneShot() *collective.Algorithm {
	const algorithm = "multimem_oneshot"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "every rank loads the sum from the switch; small sizes",
		Kernels:    collective.Multimem(name, algorithm, algorithm),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Multicast: true, SeparateOutput: true},
		Blocks:     64,
	}
	a.Enqueue = collective.OneLaunch(a, collective.WholePart)
	return a
}
