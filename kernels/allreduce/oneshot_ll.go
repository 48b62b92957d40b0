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
		MaxRow:   maxPacketRow,
		Blocks:   64,
		Threads:  128, // small blocks: more blocks have packets in flight
	}
	a.Enqueue = collective.TiledLaunch(a, collective.WholePart, collective.PacketTile)
	return a
}

// maxPacketRow is the most bytes of a row for RMSNorm. A row must fit into a packet slot. It is also limited to half of
// the other algorithms' maximum, because each step of a row makes this kernel's code longer.
func maxPacketRow(world int) int64 {
	return min(collective.PacketTile(world), collective.MaxRowBytes/2)
}
