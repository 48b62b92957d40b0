package reduce

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// P2P has every rank but the root reduce a share and push it to the
// root: p2p.cu.
func P2P() *collective.Algorithm {
	const algorithm = "p2p"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank reduces a share and pushes it to the root",
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
		return c.Launch(s, a, call, c.GridOfVecs(a, call, call.Bytes()/int64(max(c.World()-1, 1))+1), &p)
	}
	return a
}
