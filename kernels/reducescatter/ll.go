package reducescatter

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// LL pushes every peer its part as packets: ll.cu.
func LL() *collective.Algorithm {
	const algorithm = "ll"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "no barrier, push packets with flags; small sizes",
		Kernels:    collective.Reductions(name, algorithm, algorithm, collective.SM80),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Packets: true},
		Blocks:     64,
		Threads:    128, // to have the packets of many blocks on their way
	}
	a.Enqueue = func(c *collective.Comm, s cudart.Stream, call collective.Call) error {
		if call.Count == 0 {
			return nil
		}
		shape := c.GridOfVecs(a, call, call.Bytes())
		p := c.Params(call)
		p.TileBytes = collective.TileBytes(call, shape.Blocks, collective.PacketTile(c.World()))
		return c.Launch(s, a, call, shape, &p)
	}
	return a
}
