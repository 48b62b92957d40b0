package reducescatter

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Pull loads the own part of all inputs: pull.cu.
func Pull() *collective.Algorithm {
	const algorithm = "pull"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, load the own part from all",
		Kernels:    collective.Reductions(name, algorithm, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
		Blocks:     96,
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		p := c.Params(call)
		return c.Launch(s, a, call, c.GridOfVecs(a, call, call.Bytes()), &p)
	}
	return a
}
