package allreduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// OneShot stages the input in scratch and loads the inputs of all ranks: oneshot.cu.
func OneShot() *collective.Algorithm {
	const algorithm = "oneshot"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "one barrier, pull all inputs; small sizes",
		Kernels: slices.Concat(
			collective.Reductions(name, algorithm, algorithm, collective.SM80, collective.SM90),
			collective.Epilogues(name, algorithm, algorithm, collective.SM80),
		),
		MaxRanks:     collective.MaxRanks,
		Blocks:       64, // enough to saturate the links at the sizes where one-shot is the fastest
		ScratchBytes: func(int, int64) int64 { return collective.OneShotBytes },
	}
	a.Enqueue = collective.TiledLaunch(a, collective.WholePart, func(int) int64 { return collective.SlotBytes })
	return a
}
