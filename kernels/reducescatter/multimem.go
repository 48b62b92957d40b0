package reducescatter

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Multimem loads the own part of the reduction from the multicast
// address: multimem.cu.
func Multimem() *collective.Algorithm {
	const algorithm = "multimem"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "load the own part of the sum from the switch",
		Kernels:    collective.Multimem(name, algorithm, algorithm),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Peers: true, Multicast: true},
		Blocks:     32,
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
