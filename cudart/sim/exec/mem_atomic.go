package exec

import (
	"sync/atomic"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// update computes what an atomic operation leaves in memory.
type update func(old, operand uint64) uint64

// modifyInt finds the update of a named operation on integers, or nil.
func modifyInt(name string, t ptx.Type) update {
	mask := widthMask(t.Width())
	switch name {
	case "add":
		return func(old, v uint64) uint64 { return (old + v) & mask }
	case "and":
		return func(old, v uint64) uint64 { return old & v }
	case "or":
		return func(old, v uint64) uint64 { return old | v }
	case "xor":
		return func(old, v uint64) uint64 { return old ^ v }
	case "exch":
		return func(_, v uint64) uint64 { return v }
	case "inc":
		return func(old, v uint64) uint64 {
			if old >= v {
				return 0
			}
			return old + 1
		}
	case "dec":
		return func(old, v uint64) uint64 {
			if old == 0 || old > v {
				return v
			}
			return old - 1
		}
	case "min":
		return func(old, v uint64) uint64 { return pickInt(t, v, old, v) }
	case "max":
		return func(old, v uint64) uint64 { return pickInt(t, old, v, v) }
	}
	return nil
}

// pickInt returns v where a < b by the order of t, and otherwise the other of
// the two.
func pickInt(t ptx.Type, a, b, v uint64) uint64 {
	x, y := extend(a, t), extend(b, t)
	less := x < y
	if t.Class == ptx.Signed {
		less = int64(x) < int64(y)
	}
	if less {
		return v
	}
	return a ^ b ^ v
}

// modifyFloat finds the update of a named operation on floats, or nil.
func modifyFloat(name string, t ptx.Type) update {
	f := formatOf(t)
	if t.Bits == 16 && (name == "add" || name == "min" || name == "max") {
		one := smallFloat(f, name)
		return func(old, v uint64) uint64 { return one(old&0xffff, v&0xffff, 0) }
	}
	switch {
	case name != "add":
		return nil
	case f == binary32:
		return func(old, v uint64) uint64 { return f32bits(f32(old) + f32(v)) }
	case f == binary64:
		return atomicAdd64
	}
	return nil
}

// modifyPacked finds the update of a named operation on a type of any number of
// lanes, or nil.
func modifyPacked(name string, t ptx.Type) update {
	one := modifyInt(name, t)
	if t.IsFloat() {
		one = modifyFloat(name, t)
	}
	if one == nil || t.Lanes == 1 {
		return one
	}
	mask := widthMask(t.Bits)
	return func(old, v uint64) uint64 {
		var out uint64
		for shift := 0; shift < t.Width(); shift += t.Bits {
			out |= one(old>>shift&mask, v>>shift&mask) << shift
		}
		return out
	}
}

// atomic compiles atom and red: [d,] [a], b [, c].
func (c *compiler) atomic(o *op) {
	if c.in.Op == "red" && c.has("async") {
		c.storeAsync(o)
		return
	}
	order := order{name: c.take("relaxed", "acquire", "release", "acq_rel"), scope: c.take("cta", "cluster", "gpu", "sys")}
	if order.scope == "" {
		order.scope = "gpu"
	}
	space := c.takeSpace()
	name := c.take("add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor")
	c.takePolicy()
	if c.isVector() {
		c.atomicVector(o, order, space, name)
		return
	}
	c.take("noftz")
	t := c.takeType()
	if c.err != nil {
		return
	}
	if t.Width() == 128 {
		c.atomicWide(o, order, space, name)
		return
	}
	isRed, isCAS := c.in.Op == "red", name == "cas"
	fn := modifyPacked(name, t)
	if fn == nil && !isCAS || !isAtomic(name, t) {
		c.fail("this form of %s is not implemented", c.in.Op)
		return
	}
	first := 1
	if isRed {
		first = 0
		c.def(&o.d, c.sink())
	} else {
		c.dst(&o.d, 0, t)
	}
	c.memory(o, first, space, t).order = order
	c.src(&o.b, first+1, t)
	n := first + 2
	if isCAS {
		c.src(&o.c, n, t)
		n++
	}
	c.args(n)
	o.kind = opRun
	global := inGlobal(name, t, fn)
	o.run = func(w *warp, o *op, mask uint32) error { return w.updateLanes(o, mask, fn, global) }
}

// isAtomic reports whether an operation exists on a type of this width: on 16 bits there are cas.b16 and
// the sums of floats; minima and maxima of floats are for vectors.
func isAtomic(name string, t ptx.Type) bool {
	switch {
	case t.IsFloat() && name != "add":
		return false
	case t.Width() == 16:
		return name == "cas" && t.Class == ptx.Bits || t.IsFloat()
	}
	return t.Width() == 32 || t.Width() == 64
}

// updateLanes performs the atomic operation lane after lane, by another function where memory is
// global; without one it is compare-and-swap. What comes back counts as polled: locks are spun upon.
func (w *warp) updateLanes(o *op, mask uint32, fn, global update) error {
	var out lanes
	err := w.atomically(o, mask, func(p unsafe.Pointer, lane int) {
		w.flushAt(p, o.mem.size)
		b, swap := w.regs[o.b][lane], w.regs[o.c][lane]
		next := fn
		if w.regs[o.a][lane]+o.mem.bias >= FirstRegion<<RegionShift {
			next = global
		}
		if fn == nil {
			next = func(old, _ uint64) uint64 {
				if old == b {
					return swap
				}
				return old
			}
		}
		out[lane] = updateWord(p, o.mem.size, b, next)
		w.observeUnwatched(out[lane])
	})
	if err == nil {
		w.setReg(o.d, &out, mask)
	}
	return err
}

// atomically calls f for each lane with the place of its access, between what the memory order asks for
// before and after.
func (w *warp) atomically(o *op, mask uint32, f func(p unsafe.Pointer, lane int)) error {
	if o.mem.order.releases() {
		if o.mem.order.acquires() { // what it reads tells of more, which it passes on
			w.block.view.acquire(o.mem.order.scope)
		}
		w.release(o.mem.order.scope, mask)
	}
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		p, err := w.writable(o, w.regs[o.a][lane], lane)
		if err != nil {
			return err
		}
		f(p, lane)
	}
	if o.mem.order.acquires() {
		w.block.view.acquire(o.mem.order.scope)
	}
	return nil
}

// updateWord performs one atomic operation on 2, 4 or 8 bytes and returns what
// was there.
func updateWord(p unsafe.Pointer, size, operand uint64, fn update) uint64 {
	switch size {
	case 2: // within the aligned word around it
		shift := uintptr(p) & 2 * 8
		old := update32((*uint32)(unsafe.Add(p, -int(uintptr(p)&2))), operand, func(old, v uint64) uint64 {
			return old&^(0xffff<<shift) | fn(old>>shift&0xffff, v)<<shift
		})
		return old >> shift & 0xffff
	case 4:
		return update32((*uint32)(p), operand, fn)
	}
	return update64((*uint64)(p), operand, fn)
}

// update32 also writes where nothing changes, so that a failed
// compare-and-swap orders memory like a successful one.
func update32(p *uint32, operand uint64, fn update) uint64 {
	for {
		old := atomic.LoadUint32(p)
		if atomic.CompareAndSwapUint32(p, old, uint32(fn(uint64(old), operand))) {
			return uint64(old)
		}
	}
}

func update64(p *uint64, operand uint64, fn update) uint64 {
	for {
		old := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, old, fn(old, operand)) {
			return old
		}
	}
}
