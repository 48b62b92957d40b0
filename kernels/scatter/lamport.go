package scatter

import "gpurun/kernels/collective"

// Lamport stores every part of the root's input in mailboxes of its rank: lamport.cu.
func Lamport() *collective.Algorithm {
	return collective.MailboxCopy(name, "no barrier, the root pushes words that are their own flags; medium sizes")
}
