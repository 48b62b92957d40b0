package workload

// maxReceivedCopies times as much as a copy is what a rank receives at once at most, from all
// peers: it bounds the memory for that where ranks are many.
const maxReceivedCopies = 8

// ConcurrentCopyBytes is what is copied to each of so many peers at once.
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

// NoCeiling says why the links are not measured. All ranks know the same.
func (p Plan) NoCeiling(caps Capabilities) string {
	switch {
	case p.job.CeilingBytes <= 0:
		return "the job does not ask for it"
	case p.world == 1:
		return "one rank has no peer to copy to"
	}
	return caps.NoPeerAccess
}
