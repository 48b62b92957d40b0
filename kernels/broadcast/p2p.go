package broadcast

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// P2P has every rank but the root fetch a share and push it to the
// others: p2p.cu.
func P2P() *collective.Algorithm {
	const algorithm = "p2p"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "each rank fetches a share from the root and pushes it",
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
		return c.Launch(s, a, call, c.GridOfVecs(a, call, call.Bytes()/int64(max(c.World()-1, 1))+1), &p)
	}
	return a
}
