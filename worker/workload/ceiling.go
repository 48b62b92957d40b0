package workload

// landings times as much as a copy is what a rank receives at once at most, from all
// peers: it bounds the memory for that where ranks are many.
const landings = 8

// ShareBytes is what is copied to each of so many peers at once.
func ShareBytes(bytes int64, peers int) int64 {
	return min(bytes, RoundUp(max(1, landings*bytes/int64(peers))))
}

// withCopies adds a place to copy from, and one to copy to for each of so many peers.
func (l Layout) withCopies(bytes int64, peers int) Layout {
	l.CopyFrom = l.Total
	l.CopyTo = l.CopyFrom + RoundUp(bytes)
	l.Total = l.CopyTo + max(RoundUp(bytes), int64(peers)*RoundUp(ShareBytes(bytes, peers)))
	return l
}

// NoCeiling says why the links are not measured. All ranks know the same.
func (p Plan) NoCeiling(s Surroundings) string {
	switch {
	case p.job.CeilingBytes <= 0:
		return "the job does not ask for it"
	case p.world == 1:
		return "one rank has no peer to copy to"
	}
	return s.Apart
}
