package reducescatter

import "gpurun/kernels/collective"

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
		Threads:    128, // small blocks: more blocks have packets in flight
	}
	a.Enqueue = collective.TiledLaunch(a, collective.WholePart, collective.PacketTile)
	return a
}
