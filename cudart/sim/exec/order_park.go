package exec

import (
	"bytes"
	"hash/maphash"
	"slices"
	"unsafe"
)

// A warp whose paths all spin is parked: its turns do nothing until a word that it polls has changed.
// Comparing the words takes a fraction of the time that the polling loop takes, and the warps that have
// work get the difference. Memory is compared, because the writer may be another process.
//
// A polling loop may also end for another reason: it counts its iterations, or reads a clock. So one
// parked warp of a grid, the sentinel, polls on. When it leaves its loop after many polls that saw no
// change, all parked warps poll for a while. A warp that waits for something else than the sentinel
// does polls at least every parkedTime, and in one of parkedTurns.

const (
	parkedTime  = 10e6 // nanoseconds of [Clock] for which a warp stays parked at most
	parkedTurns = 32   // of the grid, for which it does
	manyPolls   = 64   // without a change, after which a sentinel that leaves its loop wakes the others
	awakeTurns  = 256  // of the grid, for which they poll then
	maxWatched  = 64   // ranges that a parked warp compares; a warp that polls more is not parked
)

// watch is what a warp polls.
type watch struct {
	polled   pollList // since the last backward branch, or since the turn began, unless that goes on
	previous pollList // before that
	blind    bool     // the warp polls something that is in no list
	// goesOn says that the turn before has ended at its limit, in a grid whose caller chooses turns: these may be shorter
	// than a polling loop.
	goesOn bool
	parked bool
	until  uint64 // parked until this time
	slept  int    // turns for which it has been parked
	polls  int    // in a row that saw no change, of the sentinel
}

// pollList is a list of ranges of memory, and what they held.
type pollList struct {
	ranges []polledRange
	seen   []byte // one range after the other, each at a multiple of wholeBytes
}

type polledRange struct {
	p unsafe.Pointer
	n int // bytes
}

func (l *pollList) emptied() pollList { return pollList{l.ranges[:0], l.seen[:0]} }

// restart begins the list of what is polled anew.
func (s *watch) restart() {
	s.polled, s.blind = s.polled.emptied(), false
}

// forget makes the list of what is polled the previous one.
func (s *watch) forget() {
	s.polled, s.previous = s.previous, s.polled
	s.restart()
}

// load adds n bytes at p and returns a copy of what they hold, which is what the warp loads.
func (s *watch) load(p unsafe.Pointer, n int) unsafe.Pointer {
	if len(s.polled.ranges) == maxWatched {
		s.restart()
		s.blind = true
	}
	l := &s.polled
	l.ranges = append(l.ranges, polledRange{p, n})
	at := len(l.seen)
	l.seen = slices.Grow(l.seen, seenBytes(n))[:at+seenBytes(n)]
	to := unsafe.Pointer(&l.seen[at])
	copyWords(to, p, n)
	return to
}

// seenBytes is the room for n bytes in a list.
func seenBytes(n int) int { return (n + wholeBytes - 1) &^ (wholeBytes - 1) }

// changed reports whether a range holds something else now.
func (l *pollList) changed() bool {
	at := 0
	for _, r := range l.ranges {
		if !bytes.Equal(l.seen[at:at+r.n], unsafe.Slice((*byte)(r.p), r.n)) {
			return true
		}
		at += seenBytes(r.n)
	}
	return false
}

// within reports whether the ranges of l are also in m, in the same order, and held the same there.
func (l *pollList) within(m *pollList) bool {
	k, at, atM := 0, 0, 0
	for _, r := range l.ranges {
		for k < len(m.ranges) && m.ranges[k] != r {
			atM += seenBytes(m.ranges[k].n)
			k++
		}
		if k == len(m.ranges) || !bytes.Equal(l.seen[at:at+r.n], m.seen[atM:atM+r.n]) {
			return false
		}
		at, atM, k = at+seenBytes(r.n), atM+seenBytes(r.n), k+1
	}
	return true
}

// nothingNew reports whether the warp has polled only what it had polled before, and seen the same.
func (s *watch) nothingNew() bool {
	return !s.blind && len(s.polled.ranges) > 0 && s.polled.within(&s.previous)
}

// turnBack is called when the only path of the warp takes a backward branch after it has polled. It
// reports whether it has polled nothing new since the branch before.
func (s *watch) turnBack() bool {
	if s.nothingNew() {
		return true
	}
	s.forget()
	return false
}

// park parks a warp whose paths all spin, if they poll nothing new. In disorder no warp is parked: turns
// are part of the order.
func (w *warp) park() {
	s := &w.watch
	s.parked = w.stores == nil && s.nothingNew()
	s.until, s.slept = w.grid.now+parkedTime, 0
	if !s.parked {
		s.forget()
	}
}

// progresses notes that the running path does something that others may wait for. So it does not spin, whether it
// polls before that or after, and the warp does more than to poll.
func (w *warp) progresses() {
	w.current.polled, w.current.polls = 0, false
	w.loops.forget()
	w.watch.blind = true
}

// progressesBy is progresses for a store, unless it is to the local memory of each thread, which no other can see:
// code that is not optimized keeps the variables of its polling loops there.
func (w *warp) progressesBy(store *op) {
	const window = localWindow >> RegionShift
	bias := store.mem.bias
	switch to := &w.affines[store.a]; {
	case bias>>RegionShift == window: // .local
	case w.forms[store.a]&isAffine != 0 && to.stride == 0 && (to.base+bias)>>RegionShift == window:
	default:
		w.progresses()
	}
}

// rest is what becomes of a warp's turn.
type rest uint8

const (
	runs   rest = iota
	sleeps      // nothing has changed
	polls       // nothing has changed, and the warp polls nevertheless
)

func (w *warp) rest() rest {
	s, g := &w.watch, w.grid
	if !s.parked {
		return runs
	}
	if g.awakeTurns > 0 || s.polled.changed() {
		s.polls = 0
		return runs
	}
	for i := range w.paths[:w.others] {
		if w.paths[i].state == runnable { // released from a barrier
			return runs
		}
	}
	if g.sentinel == nil || !g.sentinel.watch.parked {
		g.sentinel = w
	}
	s.slept++
	if g.sentinel == w || g.now >= s.until || s.slept >= parkedTurns {
		s.polls++
		return polls
	}
	return sleeps
}

// pollSeed is the seed of the digests of what a warp has polled.
var pollSeed = maphash.MakeSeed()

// observeBytes is observe for n bytes at p.
func (w *warp) observeBytes(p unsafe.Pointer, n int) {
	w.observe(maphash.Bytes(pollSeed, unsafe.Slice((*byte)(p), n)))
}

// copyWords copies n bytes, each aligned word of up to 16 bytes at once.
func copyWords(to, from unsafe.Pointer, n int) {
	if n%wholeBytes == 0 && uintptr(from)%wholeBytes == 0 && copy16(to, from, n) {
		return
	}
	for ; n >= 8; n -= 8 {
		*(*uint64)(to) = *(*uint64)(from)
		to, from = unsafe.Add(to, 8), unsafe.Add(from, 8)
	}
	switch n {
	case 4:
		*(*uint32)(to) = *(*uint32)(from)
	case 2:
		*(*uint16)(to) = *(*uint16)(from)
	case 1:
		*(*uint8)(to) = *(*uint8)(from)
	}
}
