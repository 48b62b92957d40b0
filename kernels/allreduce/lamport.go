package allreduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// byMailboxes is an algorithm of one kernel that sends floats as their own flags, of what blocks share; a slot of
// mailboxes has so many boxes among that many ranks.
func byMailboxes(algorithm, summary string, shared func(world int, call collective.Call) int64, boxes func(world int) int) *collective.Algorithm {
	tile := func(world int) int64 { return collective.MailTile(boxes(world)) }
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    summary,
		Kernels: slices.Concat(
			collective.FloatReductions(name, algorithm, algorithm),
			collective.Epilogues(name, algorithm, algorithm, collective.SM90),
		),
		MaxRanks: collective.MaxRanks,
		Needs:    collective.Needs{Mailboxes: true},
		MaxRow:   func(world int) int64 { return min(tile(world), collective.MaxRowBytes) },
		Blocks:   128,
	}
	a.Enqueue = collective.TiledLaunch(a, shared, tile)
	return a
}
