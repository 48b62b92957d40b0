package collectives

// seeds gives each case inputs of its own. A kernel that reads what a call before it has left, in scratch or in a
// mailbox, then computes a wrong result.
type seeds struct {
	job        uint64 // of the job
	outOfPlace uint64 // cases so far
	inPlace    uint64
}

// next is the seed of the next case: the first case out of place and the first in place have those of the job.
func (s *seeds) next(inPlace bool) uint64 {
	n := &s.outOfPlace
	if inPlace {
		n = &s.inPlace
	}
	*n++
	return placeSeed(s.job+*n-1, inPlace)
}

// placeSeed sets the inputs of calls in place apart from those of calls out of place.
func placeSeed(seed uint64, inPlace bool) uint64 {
	if inPlace {
		return ^seed
	}
	return seed
}

// spoiledSeed is of inputs that no call has.
func spoiledSeed(seed uint64) uint64 { return seed ^ 1<<63 }
