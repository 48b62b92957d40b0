package worker

// landings times as much as a copy is what a rank receives at once at most, from all
// peers: it bounds the memory for that where ranks are many.
const landings = 8

// shareBytes is what is copied to each of so many peers at once.
func shareBytes(bytes int64, peers int) int64 {
	return min(bytes, roundUp(max(1, landings*bytes/int64(peers))))
}

// withCopies adds a place to copy from, and one to copy to for each of so many peers.
func (l layout) withCopies(bytes int64, peers int) layout {
	l.copyFrom = l.total
	l.copyTo = l.copyFrom + roundUp(bytes)
	l.total = l.copyTo + max(roundUp(bytes), int64(peers)*roundUp(shareBytes(bytes, peers)))
	return l
}

// noCeiling says why the links are not measured. All ranks know the same.
func (p Plan) noCeiling(s surroundings) string {
	switch {
	case p.job.CeilingBytes <= 0:
		return "the job does not ask for it"
	case p.world == 1:
		return "one rank has no peer to copy to"
	}
	return s.apart
}
