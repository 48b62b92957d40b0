package reduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// LL pushes every input to the root as packets: ll.cu.
func LL() *collective.Algorithm {
	const algorithm = "ll"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "no barrier, push packets with flags to the root; small sizes",
		Kernels: slices.Concat(
			collective.Reductions(name, algorithm, algorithm, collective.SM80),
			collective.FloatReductions(name, algorithm, algorithm),
		),
		MaxRanks: collective.MaxRanks,
		Needs:    collective.Needs{Packets: true},
		Blocks:   64,
		Threads:  128, // small blocks: more blocks have packets in flight
	}
	a.Enqueue = collective.TiledLaunch(a, collective.WholePart, collective.PacketTile)
	return a
}
