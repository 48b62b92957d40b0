package exec

// split is a set of lanes with a common program counter.
type split struct {
	pc      int32
	mask    uint32
	state   splitState
	barrier int // which barrier a split in state waiting waits at

	// Digests of what the split polled since its last backward branch, and
	// between the two before.
	polled, before uint64
}

type splitState uint8

const (
	runnable   splitState = iota
	spinning              // wants others to run first
	converging            // waits for other lanes of the warp, at a .sync instruction
	waiting               // waits at a barrier of the block
)

// wake makes splits that gave way runnable again, unless others are.
func (w *warp) wake() {
	for _, s := range w.splits[:w.parked] {
		if s.state == runnable {
			return
		}
	}
	for i := range w.splits[:w.parked] {
		if w.splits[i].state == spinning {
			w.splits[i].state = runnable
		}
	}
}

// pick makes the runnable split with the lowest program counter the current
// one, and merges into it those at the same place.
func (w *warp) pick() bool {
	best := -1
	for i, s := range w.splits[:w.parked] {
		if s.state == runnable && (best < 0 || s.pc < w.splits[best].pc) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	w.current = w.splits[best]
	w.remove(best)
	for i := w.parked - 1; i >= 0; i-- {
		s := &w.splits[i]
		if s.pc == w.current.pc && s.state != waiting {
			w.current.mask |= s.mask
			w.remove(i)
		}
	}
	return true
}

// stuck says why no split is runnable.
func (w *warp) stuck() (outcome, error) {
	if w.parked == 0 {
		return exited, nil
	}
	atBarrier := false
	for _, s := range w.splits[:w.parked] {
		if s.state == spinning {
			return spins, nil
		}
		atBarrier = atBarrier || s.state == waiting
	}
	if atBarrier {
		return blocked, nil
	}
	w.current = w.splits[0]
	return exited, w.fault(Deadlock, lowest(w.current.mask), "lanes %#x of the warp wait here for lanes that cannot come", w.current.mask)
}

func (w *warp) remove(i int) {
	w.parked--
	w.splits[i] = w.splits[w.parked]
}

func (w *warp) push(s split) {
	w.splits[w.parked] = s
	w.parked++
}

// horizon is where the current split must stop for another: the lowest
// program counter of a split ahead of it.
func (w *warp) horizon() int32 {
	ahead := int32(1<<31 - 1)
	for _, s := range w.splits[:w.parked] {
		if s.pc > w.current.pc {
			ahead = min(ahead, s.pc)
		}
	}
	return ahead
}
