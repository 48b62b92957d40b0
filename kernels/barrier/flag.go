package barrier

import (
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Flag has every rank store a flag to every other rank: flag.cu.
func Flag() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "flag",
		Summary:    "a flag from every rank to every other",
		Kernels:    slices.Concat(FlagKernels(), collective.Copies(name, "flag", collective.SM90)),
		Others:     FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Blocks:     1,
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		p := c.Params(call)
		p.Phase = collective.StartBarrier
		return c.Launch(s, a, call, c.OneBlock(), &p)
	}
	return a
}
