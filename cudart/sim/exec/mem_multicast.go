package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// memberPointers returns where one lane's multicast address lies in the memory of each member, in the
// order of the members. The result is valid until the next call.
func (w *warp) memberPointers(o *op, base uint64, lane int) ([]unsafe.Pointer, error) {
	addr, n := base+o.mem.bias, o.mem.bytes()
	region, ok := w.grid.multicast(addr)
	switch {
	case !ok:
		return nil, w.fault(IllegalAddress, lane, "%#x is no multicast address, and multimem instructions take no other",
			addr)
	case addr%n != 0:
		return nil, w.fault(MisalignedAddress, lane, "address %#x is not a multiple of %d", addr, n)
	}
	w.memberPtrs = w.memberPtrs[:0]
	for _, m := range region.Members {
		off := addr - region.Base
		if size := uint64(len(m.Data)); size < n || off > size-n {
			return nil, w.fault(IllegalAddress, lane,
				"no %d bytes of memory at address %#x, which lies in a multicast range of %d bytes at %#x", n, addr, size,
				region.Base)
		}
		w.memberPtrs = append(w.memberPtrs, unsafe.Pointer(&m.Data[off]))
	}
	return w.memberPtrs, nil
}

// multicast returns the multicast region that holds addr, if there is one.
func (g *Grid) multicast(addr uint64) (Region, bool) {
	id := addr >> RegionShift
	if r, ok := g.multicasts[id]; ok {
		return r, true
	}
	r, ok := g.cfg.Memory.Resolve(addr)
	if !ok || len(r.Members) == 0 {
		return Region{}, false
	}
	g.multicasts[id] = r
	for _, member := range r.Members {
		g.track(member)
	}
	return r, true
}

// loadReduce runs multimem.ld_reduce. What it sees counts as polled, if it is
// ordered, as with loads.
func (w *warp) loadReduce(o *op, mask uint32, r reduction, t ptx.Type) error {
	addresses := w.regs[o.a] // a copy: a destination may be the address
	words := make([]uint64, 0, 16)
	stale := !o.mem.order.strong()
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		members, err := w.memberPointers(o, addresses[lane], lane)
		if err != nil {
			return err
		}
		for k, slot := range o.mem.vector {
			words = words[:0]
			for _, p := range members {
				at := unsafe.Add(p, uint64(k)*o.mem.size)
				v := w.visibleValue(readPiece(at, o.mem.size), at, o.mem.size, lane, stale, false)
				words = append(words, v[0])
				if !stale {
					w.block.view.observe(at)
				}
			}
			v := r.reduce(words, t.Bits, t.Lanes)
			w.regs[slot][lane] = v
			if o.mem.order.strong() {
				w.observeUnwatched(v)
			}
		}
	}
	if o.mem.order.acquires() {
		w.block.view.acquire(o.mem.order.scope)
	}
	return nil
}

// storeMulticast runs multimem.st: on each member what st does.
func storeMulticast(w *warp, o *op, mask uint32) error {
	return w.eachMemberWord(o, mask, func(at unsafe.Pointer, lane int, v uint64) {
		if w.stores != nil {
			w.stores.push(at, o.mem.size, word{v}, w.thread(lane), false)
		} else {
			writeAtomic(at, o.mem.size, v)
		}
	})
}

// reduceMulticast runs multimem.red: on each member, for each element, what red
// does.
func (w *warp) reduceMulticast(o *op, mask uint32, fn update) error {
	return w.eachMemberWord(o, mask, func(word unsafe.Pointer, _ int, v uint64) {
		w.flushAt(word, o.mem.size)
		updateWord(word, o.mem.size, v, fn)
	})
}

// eachMemberWord calls write for every element of every lane, on every member, after the release that
// the op asks for.
func (w *warp) eachMemberWord(o *op, mask uint32, write func(word unsafe.Pointer, lane int, v uint64)) error {
	w.progresses()
	if o.mem.order.releases() {
		w.release(o.mem.order.scope, mask)
	}
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		at, err := w.memberPointers(o, w.regs[o.a][lane], lane)
		if err != nil {
			return err
		}
		for _, p := range at {
			for k, slot := range o.mem.vector {
				write(unsafe.Add(p, uint64(k)*o.mem.size), lane, w.regs[slot][lane])
			}
		}
	}
	return nil
}
