package allgather

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Pull loads every peer's part: pull.cu.
func Pull() *collective.Algorithm {
	const algorithm = "pull"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "barriers, load all peers' parts",
		Kernels:    collective.Copies(name, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true},
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
