package exec

import (
	"sync/atomic"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// store compiles st[.order][.scope][.space][.vec].type [a], b.
func (c *compiler) store(o *op) {
	if c.has("async") {
		c.storeAsync(o)
		return
	}
	if c.has("bulk") {
		c.storeBulk(o)
		return
	}
	order := c.takeOrder()
	c.takePolicy()
	space := c.frameSpace(c.takeSpace(), c.arg(0))
	t, elems, whole := c.takeElementType(c.takeVector(1))
	c.args(2)
	if c.err != nil {
		return
	}
	if t.Class == ptx.Pred || t.Width() > 64 || space == ptx.Const || space == ptx.Param {
		c.fail("a .%s cannot be stored in .%s memory", t, space)
		return
	}
	c.checkVector(len(elems), space, t)
	mem := c.memory(o, 0, space, t)
	mem.order, mem.whole = order, whole
	mem.vector = make([]int32, len(elems))
	for i, e := range elems {
		c.srcOperand(&mem.vector[i], e, t)
	}
	mem.writes = true
	o.kind, o.run, o.takesAffine = opRun, storeWeak, true
	mem.piece, mem.move = pieceOf(mem), storesOfPieces(mem)
	c.accessStep(o)
	if order.strong() {
		o.run = storeStrong
	}
}

func storeWeak(w *warp, o *op, mask uint32) error {
	w.progressesBy(o)
	if mask == fullMask && w.stores == nil && w.storeAll(o) {
		return nil
	}
	w.expandOperands(o)
	return w.storeLanes(o, mask)
}

// storeAll stores for all lanes at once. ok is false where that is not possible, and nothing is stored.
func (w *warp) storeAll(o *op) (ok bool) {
	for _, slot := range o.mem.vector {
		w.expandLanes(slot)
	}
	s, ok := w.moveAll(o)
	if ok {
		w.noteStores(o, s)
	}
	return ok
}

func storeStrong(w *warp, o *op, mask uint32) error {
	w.progressesBy(o)
	if o.mem.order.releases() {
		w.release(o.mem.order.scope, mask)
	}
	if mask == fullMask && w.stores == nil && hostOrdersAccesses && w.accessesWhole(o.mem) && w.storeAll(o) {
		return nil
	}
	w.expandOperands(o)
	return w.storeLanes(o, mask)
}

func (w *warp) storeLanes(o *op, mask uint32) error {
	piece := w.pieceBytes(o.mem)
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		p, err := w.writable(o, w.regs[o.a][lane], lane)
		if err != nil {
			if _, ok := w.grid.multicast(w.regs[o.a][lane] + o.mem.bias); !ok {
				return err
			}
			// PTX defines multimem.st alone for multicast addresses. GPUs store to all members.
			if err := storeMulticast(w, o, 1<<lane); err != nil {
				return err
			}
			continue
		}
		addr := w.regs[o.a][lane] + o.mem.bias
		w.block.generic.note(w, addr)
		late, recorded := w.stores != nil && addr>>RegionShift >= FirstRegion, w.recordsOverwrites(addr)
		for k := 0; k < len(o.mem.vector); {
			at, v := unsafe.Add(p, uint64(k)*o.mem.size), word{}
			for i := range int(piece / o.mem.size) {
				v.setElement(i, o.mem.size, w.regs[o.mem.vector[k]][lane])
				k++
			}
			if recorded {
				w.recordOverwrite(at, piece, lane)
			}
			if late {
				w.stores.push(at, piece, v, w.thread(lane), false)
			} else {
				writePiece(at, piece, v)
			}
		}
	}
	return nil
}

func writePlain(p unsafe.Pointer, size, v uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	case 8:
		*(*uint64)(p) = v
	}
}

func writeAtomic(p unsafe.Pointer, size, v uint64) {
	switch size {
	case 4:
		atomic.StoreUint32((*uint32)(p), uint32(v))
	case 8:
		atomic.StoreUint64((*uint64)(p), v)
	default:
		writePlain(p, size, v)
	}
}
