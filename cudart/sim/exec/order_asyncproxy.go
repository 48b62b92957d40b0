package exec

import "unsafe"

// The async proxy. Threads write shared memory through the generic proxy, bulk copies read it through
// the async proxy. A fence.proxy.async is needed in between: by the thread that stored, or by one
// that a barrier has synchronized with it since. With disorder a copy without the fence may find
// the overwritten values.
//
// Stores to the block's own shared memory are recorded, in kernels that have such copies. Atomics
// are not, nor stores by other blocks of the cluster.

// maxOverwritten bounds what a block records.
const maxOverwritten = 1024

// overwritten is what a store to shared memory overwrote.
type overwritten struct {
	at           uintptr
	old          word
	size         uint8
	thread       int32
	synchronized bool // a barrier has synchronized the thread with the block since
}

// recordOverwrite keeps what a lane is about to overwrite in its block's shared memory.
func (w *warp) recordOverwrite(at unsafe.Pointer, size uint64, lane int) {
	b := w.block
	if len(b.overwritten) >= maxOverwritten {
		b.overwritten = append(b.overwritten[:0], b.overwritten[maxOverwritten/2:]...)
	}
	b.overwritten = append(b.overwritten,
		overwritten{at: uintptr(at), old: readPiece(at, size), size: uint8(size), thread: int32(w.thread(lane))})
}

// recordsOverwrites reports whether stores to a generic address are recorded.
func (w *warp) recordsOverwrites(addr uint64) bool {
	return w.grid.kernel.copiesShared && w.stores != nil && w.owns(addr)
}

// markSynchronized records that a barrier has synchronized lanes with the block.
func (w *warp) markSynchronized(mask uint32) {
	for i := range w.block.overwritten {
		r := &w.block.overwritten[i]
		r.synchronized = r.synchronized || w.isOneOf(mask, r.thread)
	}
}

// fenceProxy is fence.proxy.async by a thread whose stores are marked as synchronized.
func (b *block) fenceProxy() { b.dropOverwritten(func(r *overwritten) bool { return r.synchronized }) }

// dropSomeOverwritten makes some stores visible to copies without a fence, at random.
func (b *block) dropSomeOverwritten() {
	if r := b.grid.cfg.Disorder; r != nil && len(b.overwritten) > 0 && r.IntN(4) == 0 {
		b.dropOverwritten(func(*overwritten) bool { return r.IntN(2) == 0 })
	}
}

func (b *block) dropOverwritten(match func(*overwritten) bool) {
	left := b.overwritten[:0]
	for i := range b.overwritten {
		if !match(&b.overwritten[i]) {
			left = append(left, b.overwritten[i])
		}
	}
	b.overwritten = left
}

// staleShared changes data, which was read at p, to the overwritten values. The oldest store counts
// last: its old value is what a copy finds where several stores overlap.
func (b *block) staleShared(data []byte, p unsafe.Pointer) {
	for i := len(b.overwritten) - 1; i >= 0; i-- {
		r := &b.overwritten[i]
		for k := range uintptr(r.size) {
			if at := r.at + k - uintptr(p); at < uintptr(len(data)) {
				data[at] = r.old.byte(k)
			}
		}
	}
}
