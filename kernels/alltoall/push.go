package alltoall

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

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
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		p := c.Params(call)
		return c.Launch(s, a, call, c.GridOfVecs(a, call, call.Bytes()), &p)
	}
	return a
}
