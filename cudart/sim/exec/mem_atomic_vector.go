package exec

import (
	"slices"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// isVector reports whether the instruction has .v2, .v4 or .v8.
func (c *compiler) isVector() bool {
	return slices.ContainsFunc(c.mods, func(m string) bool { return m == "v2" || m == "v4" || m == "v8" })
}

// atomicVector compiles atom and red on vectors of floats in global memory: each element is updated
// atomically by itself.
//
//	atom.global.op.vec.type d, [a], b;
//	red.global.op.vec.type [a], b;
func (c *compiler) atomicVector(o *op, order order, space ptx.Space, name string) {
	c.needs(90, 8, 1)
	first := 1
	if c.in.Op == "red" {
		first = 0
	}
	values := c.takeVector(first + 1)
	noftz, t := c.has("noftz"), c.takeType()
	fn := inGlobal(name, t, modifyPacked(name, t))
	width := len(values) * t.Width()
	known := t == typeF32 && name == "add" && !noftz || t.IsFloat() && t.Bits == 16 && noftz &&
		(name == "add" || name == "min" || name == "max")
	if fn == nil || !known || width > 128 || space != ptx.Global && space != ptx.Generic {
		c.fail("this form of %s is not implemented", c.in.Op)
		return
	}
	c.args(first + 2)
	mem := c.memory(o, first, space, t)
	mem.order, mem.vector, mem.writes = order, make([]int32, len(values)), true
	for i, e := range values {
		c.srcOperand(&mem.vector[i], e, t)
	}
	var olds []int32
	if first == 1 {
		olds = c.destinations(0, len(values), t)
	}
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error { return w.updateVectors(o, mask, olds, fn) }
}

// updateVectors updates element after element, lane after lane.
func (w *warp) updateVectors(o *op, mask uint32, olds []int32, fn update) error {
	out := make([]lanes, len(o.mem.vector))
	err := w.atomically(o, mask, func(p unsafe.Pointer, lane int) {
		for k, slot := range o.mem.vector {
			at := unsafe.Add(p, uint64(k)*o.mem.size)
			w.flushAt(at, o.mem.size)
			out[k][lane] = updateWord(at, o.mem.size, w.regs[slot][lane], fn)
			w.observeUnwatched(out[k][lane])
		}
	})
	if err != nil {
		return err
	}
	for k, slot := range olds {
		w.setReg(slot, &out[k], mask)
	}
	return nil
}
