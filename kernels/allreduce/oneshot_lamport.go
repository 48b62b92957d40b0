package allreduce

import (
	"slices"

	"gpurun/kernels/collective"
)

// OneShotLamport stores the input in all peers' mailboxes: oneshot_lamport.cu.
func OneShotLamport() *collective.Algorithm {
	const algorithm = "oneshot_lamport"
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    "no barrier, push floats that are their own flags to all; small sizes",
		Kernels: slices.Concat(
			collective.FloatReductions(name, algorithm, algorithm),
			collective.Epilogues(name, algorithm, algorithm, collective.SM90),
		),
		MaxRanks: collective.MaxRanks,
		Needs:    collective.Needs{Mailboxes: true},
		MaxRow:   func(world int) int64 { return min(collective.MailTile(world), collective.MaxRowBytes) },
		Blocks:   128,
	}
	a.Enqueue = collective.MailLaunch(a, collective.WholePart, collective.MailTile)
	return a
}
