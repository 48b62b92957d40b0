package allreduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// byMailboxes describes an algorithm of one kernel that sends floats in mailboxes. shared returns the number of bytes
// that the blocks divide, and mailboxes the number of mailboxes of a slot.
func byMailboxes(algorithm, summary string, shared func(world int, call collective.Call) int64,
	mailboxes func(world int) int,
) *collective.Algorithm {
	tile := func(world int) int64 { return collective.MailboxTile(mailboxes(world)) }
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
