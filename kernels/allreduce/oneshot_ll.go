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
		MaxRow:   mostOfARow,
		Blocks:   64,
		Threads:  128, // to have the packets of many blocks on their way
	}
	a.Enqueue = collective.TiledLaunch(a, collective.WholePart, collective.PacketTile)
	return a
}

// mostOfARow is how many bytes a row that is normalised may have: what fits into a
// slot for packets, and no more than half of what other algorithms take, since a
// step of a row costs this kernel much code.
func mostOfARow(world int) int64 {
	return min(collective.PacketTile(world), collective.MaxRowBytes/2)
}
