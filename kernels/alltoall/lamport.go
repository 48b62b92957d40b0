package alltoall

import "gpurun/kernels/collective"

// Lamport stores every peer's part in mailboxes of that peer: lamport.cu.
func Lamport() *collective.Algorithm {
	a := collective.MailboxCopy(name, "no barrier, push words that are their own flags; medium sizes")
	a.Needs.SeparateOutput = true
	return a
}
