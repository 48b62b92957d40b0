package allreduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// OneShotLL pushes the input to all peers as packets: oneshot_ll.cu.
func OneShotLL() *collective.Algorithm {
	const algorithm = "oneshot_ll"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "no barrier, push packets with flags to all; smallest sizes",
		Kernels: slices.Concat(
			collective.Reductions(name, algorithm, algorithm, collective.SM80, collective.SM90),
			collective.Epilogues(name, algorithm, algorithm, collective.SM80),
		),
		MaxRanks: collective.MaxRanks,
		Needs:    collective.Needs{Packets: true},
		MaxRow:   collective.PacketTile,
		Blocks:   64,
		Threads:  128, // to have the packets of many blocks on their way
	}
	a.Enqueue = collective.TiledLaunch(a, collective.PacketTile)
	return a
}
