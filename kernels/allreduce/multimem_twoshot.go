package allreduce

import "gpurun/kernels/collective"

// MultimemTwoShot loads the own part of the reduction from the multicast
// address and stores it there: multimem_twoshot.cu.
func MultimemTwoShot() *collective.Algorithm {
	const algorithm = "multimem_twoshot"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "the switch adds each rank's part and delivers it; large sizes",
		Kernels:    collective.Multimem(name, algorithm, algorithm),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Multicast: true},
		Blocks:     32,
	}
	a.Enqueue = collective.OneLaunch(a, collective.ShareOfPart)
	return a
}
