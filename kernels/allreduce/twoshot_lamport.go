package allreduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// TwoShotLamport stores parts of the input in their reducers' mailboxes, and results in those of
// all: twoshot_lamport.cu.
func TwoShotLamport() *collective.Algorithm {
	const algorithm = "twoshot_lamport"
	tile := func(world int) int64 { return collective.MailTile(2 * world) } // boxes for inputs and for results
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "no barrier, push floats that are their own flags to who reduces them, and results to all; medium sizes",
		Kernels: slices.Concat(
			collective.FloatReductions(name, algorithm, algorithm),
			collective.Epilogues(name, algorithm, algorithm, collective.SM90),
		),
		MaxRanks: collective.MaxRanks,
		Needs:    collective.Needs{Mailboxes: true},
		MaxRow:   func(world int) int64 { return min(tile(world), collective.MaxRowBytes) },
		Blocks:   128,
	}
	a.Enqueue = collective.MailLaunch(a, collective.ShareOfPart, tile)
	return a
}
