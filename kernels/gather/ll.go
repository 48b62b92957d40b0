package gather

import "gpurun/kernels/collective"

// LL pushes every input to the root as packets: ll.cu.
func LL() *collective.Algorithm {
	const algorithm = "ll"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "no barrier, push packets with flags to the root; small sizes",
		Kernels:    collective.CopiesByWorld(name, algorithm, collective.SM80, collective.SM90),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Packets: true},
		Blocks:     64,
		Threads:    128, // to have the packets of many blocks on their way
	}
	a.Enqueue = collective.TiledLaunch(a, collective.WholePart, collective.PacketTile)
	return a
}
