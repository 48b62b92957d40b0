package exec

// path is a divergent path of a warp: a program counter and the lane mask of the lanes that are there.
type path struct {
	pc      int32
	mask    uint32
	depth   int32 // of calls
	state   pathState
	barrier int32 // the barrier that a path in state atBarrier waits at
	poll    int32 // where it polled last, for Inspect

	polled uint64 // a digest of what it has polled since its last backward branch
	polls  bool   // it has polled, and not made progress since
}

type pathState uint8

const (
	runnable     pathState = iota
	spinning               // polls memory, and lets other paths run first
	reconverging           // waits for other lanes of the warp, at a .sync instruction
	atBarrier              // waits at a barrier of the block
)

// wakeSpinning makes the spinning paths runnable again, unless another path is runnable.
func (w *warp) wakeSpinning() {
	for _, s := range w.paths[:w.others] {
		if s.state == runnable {
			return
		}
	}
	for i := range w.paths[:w.others] {
		if w.paths[i].state == spinning {
			w.paths[i].state = runnable
		}
	}
}

// before reports whether a path runs before another: in a deeper call, so that the lanes of a call are
// together again when it has ended, or at a lower program counter.
func (s *path) before(t *path) bool {
	if s.depth != t.depth {
		return s.depth > t.depth
	}
	return s.pc < t.pc
}

// rest is the path of those lanes of a path that go on with the next instruction, while the others branch. Both have polled
// what the path has: a polling loop may go back by several branches, for different lanes.
func (s *path) rest(mask uint32) path {
	return path{pc: s.pc + 1, mask: mask, depth: s.depth, poll: s.poll, polled: s.polled, polls: s.polls}
}

// joins reports whether a path is merged into another at the same program counter. In calls of another depth
// that is only a path which waits for lanes at a .sync instruction. The lanes of a path may have been called
// from different places: each lane has a stack of its own.
func (s *path) joins(t *path) bool {
	return s.depth == t.depth && s.state != atBarrier || s.state == reconverging
}

// take merges a path into this one. What they have polled together does not depend on which of them goes on.
func (s *path) take(t *path) {
	s.mask |= t.mask
	s.polled += t.polled
	s.polls = s.polls || t.polls
}

// selectPath makes the runnable path that is before all others the current one, and merges those that
// join it. ok is false where none is runnable.
func (w *warp) selectPath() bool {
	best := -1
	for i := range w.paths[:w.others] {
		if s := &w.paths[i]; s.state == runnable && (best < 0 || s.before(&w.paths[best])) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	w.current = w.paths[best]
	w.removePath(best)
	for i := w.others - 1; i >= 0; i-- {
		s := &w.paths[i]
		if s.pc == w.current.pc && s.joins(&w.current) {
			w.current.take(s)
			w.removePath(i)
		}
	}
	return true
}

// noneRunnable is the outcome of a turn in which no path is runnable.
func (w *warp) noneRunnable() (outcome, error) {
	if w.others == 0 {
		return exited, nil
	}
	anyAtBarrier := false
	for _, s := range w.paths[:w.others] {
		if s.state == spinning {
			w.park()
			return spins, nil
		}
		anyAtBarrier = anyAtBarrier || s.state == atBarrier
	}
	if anyAtBarrier {
		return blocked, nil
	}
	w.current = w.paths[0]
	return exited, w.fault(Deadlock, lowest(w.current.mask), "lanes %#x of the warp wait here for lanes that cannot come",
		w.current.mask)
}

func (w *warp) removePath(i int) {
	w.others--
	w.paths[i] = w.paths[w.others]
}

func (w *warp) pushPath(s path) {
	w.paths[w.others] = s
	w.others++
}

// reconvergencePC is the lowest program counter of a path ahead of the current one that it may join, which stops there
// to be merged with it.
func (w *warp) reconvergencePC() int32 {
	ahead := int32(1<<31 - 1)
	for i := range w.paths[:w.others] {
		if s := &w.paths[i]; s.pc > w.current.pc && (s.depth == w.current.depth || s.state == reconverging) {
			ahead = min(ahead, s.pc)
		}
	}
	return ahead
}
