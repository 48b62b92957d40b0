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
//     stores reach others, and all those that it has come to see by barriers. At
//     .cta scope they only reach the block, at .gpu and .cluster scope only the
//     device: see devicestores.go,
//   - the end of the grid, which waits for all of them.
//
// Strong loads and atomics happen in program order, and stores to shared and local
// memory at once: missing barriers around shared memory go unnoticed, but see
// proxy.go for copies from it. What weak loads may see is in history.go.

// maxPending bounds a buffer, as the hardware's is bounded.
const maxPending = 2048

// storeBuffer is the pending stores of a block.
type storeBuffer struct {
	pendingStores
	grid   *Grid
	view   *view // of the block
	random *rand.Rand
	slow   bool // lets stores reach memory so rarely that whole phases of a kernel pass
}

// newStoreBuffer returns nil without disorder: all stores are seen at once.
func newStoreBuffer(g *Grid, v *view) *storeBuffer {
	random := g.cfg.Disorder
	if random == nil {
		return nil
	}
	const oneIn = 4
	return &storeBuffer{grid: g, view: v, random: random, slow: random.IntN(oneIn) == 0}
}

func (s *storeBuffer) empty() bool { return s == nil || s.count == 0 }

// push takes a store by a thread, or by a bulk copy of its.
func (s *storeBuffer) push(p unsafe.Pointer, size, value uint64, thread int, copied bool) {
	if s.count >= maxPending {
		s.drain(func(*pendingStore) bool { return s.random.IntN(2) == 0 }, s.write)
	}
	s.add(pendingStore{ptr: p, value: value, size: uint8(size), thread: int32(thread), writer: s.view.id, copied: copied})
}

// write lets a store reach memory, behind older ones that the device sees already.
func (s *storeBuffer) write(st *pendingStore) {
	s.grid.flushAt(st.ptr, uint64(st.size))
	s.grid.write(st)
}

// forwardToThread lays what a thread sees of its block's stores over value, which is at p.
func (s *storeBuffer) forwardToThread(value uint64, p unsafe.Pointer, size uint64, thread int) uint64 {
	if s.empty() {
		return value
	}
	return s.forward(value, p, size, func(st *pendingStore) bool { return st.thread == int32(thread) || st.blockVisible })
}

// drainSome lets some stores reach memory, more or fewer of them, and reports
// whether any did.
func (s *storeBuffer) drainSome() bool {
	const oneIn = 64
	if s.empty() || s.slow && s.random.IntN(oneIn) > 0 {
		return false
	}
	before := s.count
	switch s.random.IntN(4) {
	case 0:
		return false
	case 1:
		s.drain(func(*pendingStore) bool { return s.random.IntN(8) == 0 }, s.write)
	default:
		s.drain(func(*pendingStore) bool { return s.random.IntN(2) == 0 }, s.write)
	}
	return s.count < before
}

func (s *storeBuffer) drainAll() { s.drain(func(*pendingStore) bool { return true }, s.write) }

// flushAt lets all stores to an address reach memory, before an atomic
// operation there.
func (w *warp) flushAt(p unsafe.Pointer, size uint64) {
	if w.stores != nil {
		w.stores.drainAt(p, size, w.stores.write)
		w.grid.flushAt(p, size)
		w.grid.recordChange(p, size, w.block.view.id, 0)
	}
}

// release orders what the lanes of a warp stored, and what they have come to
// see, before what they do next: for all who acquire that, or at a smaller scope for
// the device or the block.
func (w *warp) release(scope string, mask uint32) {
	w.releaseToBlock(mask)
	if w.stores == nil {
		return
	}
	mine := func(st *pendingStore) bool { return st.blockVisible || w.storedBy(st, mask) }
	switch scope {
	case "cta":
	case "cluster", "gpu", "gl":
		w.releaseToGPU(mine)
	default:
		w.releaseToSystem(mine)
	}
}

// releaseToBlock shows the block what the lanes of a warp stored.
func (w *warp) releaseToBlock(mask uint32) {
	w.block.generic.publish(w)
	w.markSynchronized(mask)
	if w.stores == nil {
		return
	}
	w.markBlockVisible(&w.stores.pendingStores, mask)
	w.markBlockVisible(&w.grid.gpuScope.pendingStores, mask)
}

// markBlockVisible marks the stores of lanes as seen by the block.
func (w *warp) markBlockVisible(s *pendingStores, mask uint32) {
	if s.count == 0 {
		return
	}
	for _, l := range s.order {
		for i := range l.stores {
			st := &l.stores[i]
			st.blockVisible = st.blockVisible || w.storedBy(st, mask)
		}
	}
}

// storedBy reports whether one of the lanes in mask made the store.
func (w *warp) storedBy(st *pendingStore, mask uint32) bool {
	return st.writer == w.block.view.id && w.isOneOf(mask, st.thread)
}

func (w *warp) isOneOf(mask uint32, thread int32) bool {
	return int(thread)/32 == w.index && mask>>(thread%32)&1 != 0
}
