package exec

// maxLoops is how many backward branches of a warp are remembered. A loop may go back by several branches, and each for
// several sets of lanes.
const maxLoops = 16

// loops is what the paths of a warp polled before their last backward branches.
type loops struct {
	branches [maxLoops]backward
	count    int // of all that were noted; the oldest make room
}

// backward is a backward branch of a path, and a digest of what it had polled since the one before.
type backward struct {
	pc     int32
	mask   uint32
	polled uint64
}

// polledAgain reports whether the same lanes polled the same when they took the branch before, and notes what they have
// polled now.
func (l *loops) polledAgain(pc int32, mask uint32, polled uint64) bool {
	for i := range l.branches[:min(l.count, maxLoops)] {
		if b := &l.branches[i]; b.pc == pc && b.mask == mask {
			again := b.polled == polled
			b.polled = polled
			return again
		}
	}
	l.branches[l.count%maxLoops] = backward{pc, mask, polled}
	l.count++
	return false
}

// forget makes the next branch of each kind the first one.
func (l *loops) forget() { l.count = 0 }
