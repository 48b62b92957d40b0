package exec

import (
	"math/rand/v2"
	"unsafe"
)

// Store buffers. With [Config.Disorder] a grid uses the freedom that the PTX memory model leaves to
// stores. Each block keeps the weak, relaxed and volatile stores of its threads to global memory in a
// store buffer, piece by piece (mem_whole.go), and lets them reach memory late and in random order; some
// blocks are slower than others. The buffer respects
//
//   - the order of overlapping stores,
//   - a thread's view of its own stores,
//   - bar.sync and its variants: stores of the threads that arrived are visible to the whole
//     block from then on, though not yet to other blocks,
//   - release, by a store, an atomic or a fence: the thread's own stores, and those that it has
//     seen by barriers, become visible before it. At .cta scope they are visible to the block, at .gpu
//     and .cluster scope to the device (order_gpuscope.go), at .sys scope to all,
//   - the end of the grid, which waits for all of them.
//
// Strong loads and atomics happen in program order. Stores to shared and local memory are
// visible at once: missing barriers around shared memory go unnoticed, except for copies from it
// (order_asyncproxy.go). What weak loads may see is in order_history.go.

// maxPending bounds a buffer, as the hardware's is bounded.
const maxPending = 2048

// storeBuffer is the pending stores of a block.
type storeBuffer struct {
	pendingStores
	grid   *Grid
	view   *view // of the block
	random *rand.Rand
	slow   bool // stores reach memory so rarely that whole phases of a kernel pass
}

// newStoreBuffer returns nil without disorder: all stores are visible at once.
func newStoreBuffer(g *Grid, v *view) *storeBuffer {
	random := g.cfg.Disorder
	if random == nil {
		return nil
	}
	const oneIn = 4
	return &storeBuffer{grid: g, view: v, random: random, slow: random.IntN(oneIn) == 0}
}

func (s *storeBuffer) empty() bool { return s == nil || s.count == 0 }

// push buffers a store by a thread, or by its bulk copy where copied is set.
func (s *storeBuffer) push(p unsafe.Pointer, size uint64, value word, thread int, copied bool) {
	if s.count >= maxPending {
		s.drain(func(*pendingStore) bool { return s.random.IntN(2) == 0 }, s.write)
	}
	s.add(pendingStore{ptr: p, value: value, size: uint8(size), thread: int32(thread), writer: s.view.id, copied: copied})
}

// write performs a store in memory, after older ones that were released at .gpu scope.
func (s *storeBuffer) write(st *pendingStore) {
	s.grid.flushAt(st.ptr, uint64(st.size))
	s.grid.write(st)
}

// forwardToThread overlays value, which is at p, with the stores of its block that a thread sees.
func (s *storeBuffer) forwardToThread(value word, p unsafe.Pointer, size uint64, thread int) word {
	if s.empty() {
		return value
	}
	return s.forward(value, p, size, func(st *pendingStore) bool { return st.thread == int32(thread) || st.blockVisible })
}

// drainSome lets a random part of the stores reach memory, and reports whether any did.
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

// release makes what the lanes of a warp have stored, and have seen by barriers, visible at a scope
// before whatever they do next.
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

// releaseToBlock makes what the lanes of a warp have stored visible to the block.
func (w *warp) releaseToBlock(mask uint32) {
	w.block.generic.publish(w)
	w.markSynchronized(mask)
	if w.stores == nil {
		return
	}
	w.markBlockVisible(&w.stores.pendingStores, mask)
	w.markBlockVisible(&w.grid.gpuScope.pendingStores, mask)
}

// markBlockVisible marks the stores of lanes as visible to the block.
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
