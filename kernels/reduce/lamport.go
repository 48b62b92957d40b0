package reduce

import "gpurun/kernels/collective"

// OneShotLamport stores every input in the root's mailboxes: oneshot_lamport.cu.
func OneShotLamport() *collective.Algorithm {
	return byMailboxes("oneshot_lamport", "no barrier, push floats that are their own flags to the root; small sizes",
		collective.WholePart, collective.MailboxTile)
}

// TwoShotLamport stores shares of the inputs in the mailboxes of the ranks that reduce them, and the
// results in the root's mailboxes: twoshot_lamport.cu.
func TwoShotLamport() *collective.Algorithm {
	return byMailboxes("twoshot_lamport",
		"no barrier, push floats that are their own flags to the ranks that reduce them, and results to the root; "+
			"3 ranks and more",
		collective.ShareBesideRoot, collective.PipelinedMailboxTile)
}

// byMailboxes describes an algorithm of one kernel that sends floats in mailboxes. shared returns the number of
// bytes that the blocks divide, and tile the most bytes of a mailbox.
func byMailboxes(algorithm, summary string,
	shared func(world int, call collective.Call) int64, tile func(world int) int64,
) *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: name,
		Name:       algorithm,
		Summary:    summary,
		Kernels:    collective.FloatReductions(name, algorithm, algorithm),
		MaxRanks:   collective.MaxRanks,
		Needs:      collective.Needs{Mailboxes: true},
		Blocks:     128,
	}
	a.Enqueue = collective.TiledLaunch(a, shared, tile)
	return a
}
