package exec

import "unsafe"

// The asynchronous proxy. Bulk copies read shared memory by another path than
// threads write it, and need a fence.proxy.async in between: by the thread that
// stored, or by one that has met it at a barrier since. With disorder a copy finds
// what was there before, as long as nobody has fenced, or time has passed.
//
// Stores to the block's own shared memory are followed, in kernels that have such
// copies. Atomics are not, nor stores by other blocks of the cluster.

// mostReplaced bounds what a block remembers.
const mostReplaced = 1024

// replaced is what a store to shared memory overwrote.
type replaced struct {
	at     uintptr
	old    uint64
	size   uint8
	thread int32
	shared bool // the thread has met the block at a barrier since
}

// replaces notes what a lane is about to overwrite in its block's shared memory.
func (w *warp) replaces(at unsafe.Pointer, size uint64, lane int) {
	b := w.block
	if len(b.replaced) >= mostReplaced {
		b.replaced = append(b.replaced[:0], b.replaced[mostReplaced/2:]...)
	}
	b.replaced = append(b.replaced, replaced{at: uintptr(at), old: readPlain(at, size), size: uint8(size), thread: int32(w.thread(lane))})
}

// followsShared reports whether stores to a generic address are followed.
func (w *warp) followsShared(addr uint64) bool {
	return w.grid.kernel.copiesShared && w.stores != nil && w.owns(addr)
}

// meetProxy notes that lanes have met the block at a barrier.
func (w *warp) meetProxy(mask uint32) {
	for i := range w.block.replaced {
		r := &w.block.replaced[i]
		r.shared = r.shared || w.isOneOf(mask, r.thread)
	}
}

// fenceProxy is fence.proxy.async by a thread that has released what it stored.
func (b *block) fenceProxy() { b.forget(func(r *replaced) bool { return r.shared }) }

// settleProxy lets time pass.
func (b *block) settleProxy() {
	if r := b.grid.cfg.Disorder; r != nil && len(b.replaced) > 0 && r.IntN(4) == 0 {
		b.forget(func(*replaced) bool { return r.IntN(2) == 0 })
	}
}

func (b *block) forget(match func(*replaced) bool) {
	left := b.replaced[:0]
	for i := range b.replaced {
		if !match(&b.replaced[i]) {
			left = append(left, b.replaced[i])
		}
	}
	b.replaced = left
}

// stale lays what was there before over data, which was read at p. The oldest
// store has replaced what no copy would see later.
func (b *block) stale(data []byte, p unsafe.Pointer) {
	for i := len(b.replaced) - 1; i >= 0; i-- {
		r := &b.replaced[i]
		for k := range uintptr(r.size) {
			if at := r.at + k - uintptr(p); at < uintptr(len(data)) {
				data[at] = byte(r.old >> (8 * k))
			}
		}
	}
}
