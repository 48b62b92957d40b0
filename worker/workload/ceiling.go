package workload

// maxReceivedCopies bounds what a rank receives from all peers at once, in copies of the full
// size: the memory for them does not grow with the number of ranks.
const maxReceivedCopies = 8

// ConcurrentCopyBytes is the size of each of the concurrent copies to so many peers.
func ConcurrentCopyBytes(bytes int64, peers int) int64 {
	return min(bytes, RoundUp(max(1, maxReceivedCopies*bytes/int64(peers))))
}

// withCopies adds a place to copy from, and one to copy to for each of so many peers.
func (l Layout) withCopies(bytes int64, peers int) Layout {
	l.CopyFrom = l.Total
	l.CopyTo = l.CopyFrom + RoundUp(bytes)
	l.Total = l.CopyTo + max(RoundUp(bytes), int64(peers)*RoundUp(ConcurrentCopyBytes(bytes, peers)))
	return l
}

// NoCeiling says why the link ceiling is not measured, the same on all ranks; empty: it is
// measured.
func (p Plan) NoCeiling(caps Capabilities) string {
	switch {
	case p.job.CeilingBytes <= 0:
		return "the job does not ask for it"
	case p.world == 1:
		return "one rank has no peer to copy to"
	}
	return caps.NoPeerAccess
}
