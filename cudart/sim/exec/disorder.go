package exec

import (
	"math/rand/v2"
	"unsafe"
)

// Disorder. With [Config.Disorder] a grid makes use of the freedom that the PTX
// memory model leaves to stores. Each block keeps the weak, relaxed and volatile
// stores of its threads to global memory in a buffer, a vector element by
// element, and lets them become visible late and in random order; some blocks' very
// late. It keeps
//
//   - the order of overlapping stores,
//   - a thread's view of its own stores,
//   - bar.sync and the like: stores of those who arrived are seen by the whole
//     block from then on, though not yet by others,
//   - release, by a store, an atomic or a fence: before it, the thread's own
//     stores reach memory and all those that it has come to see by barriers.
//     At .cta scope they only reach the block,
//   - the end of the grid, which waits for all of them.
//
// Scopes .cluster and .gpu are taken for .sys. Strong loads and atomics happen in
// program order, and stores to shared and local memory at once: missing barriers
// around shared memory go unnoticed, but see proxy.go for copies from it. What weak
// loads may see is in history.go.

// lineBytes is the size and alignment of what a line of the buffer covers: no
// access crosses it.
const lineBytes = 16

// mostPending bounds a buffer, as the hardware's is bounded.
const mostPending = 2048

// pendingStore is one element that was stored and has not reached memory.
type pendingStore struct {
	ptr    unsafe.Pointer
	value  uint64
	size   uint8
	bytes  uint16 // which bytes of the line
	thread int32  // within the block
	shared bool   // the whole block sees it
}

// line is the pending stores to lineBytes of memory, oldest first.
type line struct {
	key    uintptr
	stores []pendingStore
}

// storeBuffer is the pending stores of a block. A nil buffer holds nothing.
type storeBuffer struct {
	grid    *Grid
	view    *view // of the block
	random  *rand.Rand
	lines   map[uintptr]*line
	order   []*line // those that are not empty, so that nothing depends on the order of a map
	pending int
	lazy    bool // lets stores reach memory so rarely that whole phases of a kernel pass
}

func newStoreBuffer(g *Grid, v *view) *storeBuffer {
	random := g.cfg.Disorder
	if random == nil {
		return nil
	}
	const oneIn = 4
	return &storeBuffer{grid: g, view: v, random: random, lines: map[uintptr]*line{}, lazy: random.IntN(oneIn) == 0}
}

func (s *storeBuffer) empty() bool { return s == nil || s.pending == 0 }

// lineOf returns the number of the line that holds p, and the bytes of it that
// an access takes.
func lineOf(p unsafe.Pointer, size uint64) (key uintptr, bytes uint16) {
	return uintptr(p) / lineBytes, uint16((1<<size - 1) << (uintptr(p) % lineBytes))
}

// push takes a store by a thread.
func (s *storeBuffer) push(p unsafe.Pointer, size, value uint64, thread int) {
	if s.pending >= mostPending {
		s.drain(func(*pendingStore) bool { return s.random.IntN(2) == 0 })
	}
	key, bytes := lineOf(p, size)
	l := s.lines[key]
	if l == nil {
		l = &line{key: key}
		s.lines[key] = l
		s.order = append(s.order, l)
	}
	l.stores = append(l.stores, pendingStore{ptr: p, value: value, size: uint8(size), bytes: bytes, thread: int32(thread)})
	s.pending++
}

// see is what a thread reads at p, where memory holds value.
func (s *storeBuffer) see(value uint64, p unsafe.Pointer, size uint64, thread int) uint64 {
	if s.empty() {
		return value
	}
	return s.forward(value, p, size, thread)
}

// forward lays what a thread sees of the pending stores over value.
func (s *storeBuffer) forward(value uint64, p unsafe.Pointer, size uint64, thread int) uint64 {
	key, bytes := lineOf(p, size)
	l := s.lines[key]
	if l == nil {
		return value
	}
	for i := range l.stores {
		st := &l.stores[i]
		if st.bytes&bytes == 0 || st.thread != int32(thread) && !st.shared {
			continue
		}
		for b := range size {
			if at := uintptr(p) + uintptr(b) - uintptr(st.ptr); at < uintptr(st.size) {
				value = value&^(0xff<<(8*b)) | st.value>>(8*at)&0xff<<(8*b)
			}
		}
	}
	return value
}

// drain writes the stores that match to memory, and older ones that they
// overlap before them.
func (s *storeBuffer) drain(match func(*pendingStore) bool) {
	rest := s.order[:0]
	for _, l := range s.order {
		if s.drainLine(l, match); len(l.stores) > 0 {
			rest = append(rest, l)
		} else {
			delete(s.lines, l.key)
		}
	}
	clear(s.order[len(rest):])
	s.order, s.pending = rest, 0
	for _, l := range rest {
		s.pending += len(l.stores)
	}
}

func (s *storeBuffer) drainLine(l *line, match func(*pendingStore) bool) {
	var due uint64 // a bit per store, the newest in bit 0; older ones than 64 are due
	var bytes uint16
	n := len(l.stores)
	for i := n - 1; i >= 0; i-- {
		if st := &l.stores[i]; st.bytes&bytes != 0 || match(st) || n-1-i >= 64 {
			bytes |= st.bytes
			due |= 1 << (n - 1 - i)
		}
	}
	rest := l.stores[:0]
	for i, st := range l.stores {
		if n-1-i >= 64 || due>>(n-1-i)&1 != 0 {
			s.view.noteChange(s.grid, st.ptr, uint64(st.size))
			writeAtomic(st.ptr, uint64(st.size), st.value)
		} else {
			rest = append(rest, st)
		}
	}
	l.stores = rest
}

// drainSome lets some stores reach memory, more or fewer of them, and reports
// whether any did.
func (s *storeBuffer) drainSome() bool {
	const oneIn = 64
	if s.empty() || s.lazy && s.random.IntN(oneIn) > 0 {
		return false
	}
	before := s.pending
	switch s.random.IntN(4) {
	case 0:
		return false
	case 1:
		s.drain(func(*pendingStore) bool { return s.random.IntN(8) == 0 })
	default:
		s.drain(func(*pendingStore) bool { return s.random.IntN(2) == 0 })
	}
	return s.pending < before
}

func (s *storeBuffer) drainAll() { s.drain(func(*pendingStore) bool { return true }) }

// settle lets all stores to an address reach memory, before an atomic
// operation there.
func (s *storeBuffer) settle(p unsafe.Pointer, size uint64) {
	if s.empty() {
		return
	}
	key, bytes := lineOf(p, size)
	if l := s.lines[key]; l != nil {
		before := len(l.stores)
		s.drainLine(l, func(st *pendingStore) bool { return st.bytes&bytes != 0 })
		s.pending -= before - len(l.stores) // an empty line goes with the next drain
	}
}

// release orders what the lanes of a warp stored, and what they have come to
// see, before what they do next: for all who acquire that, or at .cta scope for
// the block.
func (w *warp) release(scope string, mask uint32) {
	w.meetProxy(mask)
	switch {
	case w.stores.empty():
	case scope == "cta":
		w.publish(mask)
	default:
		w.stores.drain(func(st *pendingStore) bool { return st.shared || w.stored(st, mask) })
	}
}

// publish shows the block what the lanes of a warp stored.
func (w *warp) publish(mask uint32) {
	w.block.generic.publish(w)
	w.meetProxy(mask)
	if w.stores.empty() {
		return
	}
	for _, l := range w.stores.order {
		for i := range l.stores {
			st := &l.stores[i]
			st.shared = st.shared || w.stored(st, mask)
		}
	}
}

// stored reports whether one of the lanes in mask made the store.
func (w *warp) stored(st *pendingStore, mask uint32) bool { return w.isOneOf(mask, st.thread) }

func (w *warp) isOneOf(mask uint32, thread int32) bool {
	return int(thread)/32 == w.index && mask>>(thread%32)&1 != 0
}
