package allreduce

import "gpurun/kernels/collective"

// TwoShotLamport stores parts of the input in the mailboxes of the ranks that reduce them, and
// results in the mailboxes of all ranks: twoshot_lamport.cu.
func TwoShotLamport() *collective.Algorithm {
	return byMailboxes("twoshot_lamport",
		"no barrier, push floats that are their own flags to the ranks that reduce them, and results to all; medium sizes",
		collective.ShareOfPart, func(world int) int { return 2 * world }) // inputs and results
}
