package barrier

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Multimem counts arrivals through the multicast address: multimem.cu.
func Multimem() *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       "multimem",
		Summary:    "a multicast reduction counts the ranks that have arrived",
		Kernels:    collective.Copies(name, "multimem", collective.SM90),
		Others:     FlagKernels(), // its verification uses the flag barrier as well
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Multicast: true},
		Blocks:     1,
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		p := c.Params(call)
		return c.Launch(s, a, call, c.OneBlock(), &p)
	}
	return a
}
