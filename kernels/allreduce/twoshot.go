package allreduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// TwoShot reduces the own part of all inputs and pushes it to all: twoshot.cu.
func TwoShot() *collective.Algorithm {
	const algorithm = "twoshot"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank reduces its part and pushes it; large sizes",
		Kernels: slices.Concat(
			collective.Reductions(name, algorithm, algorithm, collective.SM80, collective.SM90),
			collective.Epilogues(name, algorithm, algorithm, collective.SM80),
		),
		MaxRanks: collective.MaxRanks,
		Needs:    collective.Needs{Peers: true},
		Blocks:   96, // enough to saturate the links; other multiprocessors stay free
	}
	a.Enqueue = collective.OneLaunch(a, collective.ShareOfPart)
	return a
}
