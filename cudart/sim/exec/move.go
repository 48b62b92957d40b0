package exec

import "gpurun/cudart/sim/ptx"

// move compiles mov, whose vector forms pack and unpack registers.
func (c *compiler) move(o *op) {
	t := c.takeType()
	c.args(2)
	from, to := c.arg(1), c.arg(0)
	switch {
	case c.err != nil:
	case t.Class == ptx.Pred:
		c.predicateLogic(o)
	case from.Kind == ptx.Vector:
		c.pack(o, t, from.Elems)
	case to.Kind == ptx.Vector:
		c.unpack(o, t, to.Elems)
	case from.Kind == ptx.Special && isClock(from.Name):
		c.readClock(o, from.Name, t)
	default:
		o.alu, o.ramp = copyLanes, sameRamp
		c.dst(&o.d, 0, t)
		c.src(&o.a, 1, t)
	}
}

func copyLanes(d, a, _, _ *lanes) { *d = *a }

// pack compiles mov.b64 d, {lo, hi}; the first element is the lowest.
func (c *compiler) pack(o *op, t ptx.Type, elems []ptx.Operand) {
	part := ptx.Type{Class: ptx.Bits, Bits: t.Width() / len(elems), Lanes: 1}
	slots := make([]int32, len(elems))
	c.dst(&o.d, 0, t)
	for i, e := range elems {
		c.srcOperand(&slots[i], e, part)
	}
	mask := widthMask(part.Bits)
	o.kind = opRun
	o.run = func(w *warp, o *op, active uint32) error {
		var out lanes
		for k, slot := range slots {
			src := &w.regs[slot]
			for i := range out {
				out[i] |= src[i] & mask << (k * part.Bits)
			}
		}
		w.setReg(o.d, &out, active)
		return nil
	}
}

func (c *compiler) unpack(o *op, t ptx.Type, elems []ptx.Operand) {
	part := ptx.Type{Class: ptx.Bits, Bits: t.Width() / len(elems), Lanes: 1}
	slots := make([]int32, len(elems))
	c.src(&o.a, 1, t)
	for i, e := range elems {
		c.dstOperand(&slots[i], e, part)
	}
	mask := widthMask(part.Bits)
	o.kind = opRun
	o.run = func(w *warp, o *op, active uint32) error {
		src := w.regs[o.a] // a copy: a destination may be the source
		var out lanes
		for k, slot := range slots {
			for i := range out {
				out[i] = src[i] >> (k * part.Bits) & mask
			}
			w.setReg(slot, &out, active)
		}
		return nil
	}
}

// windowOf is the generic address of a state space's first byte. Global and
// constant addresses are generic addresses already.
func windowOf(s ptx.Space) uint64 {
	switch s {
	case ptx.Shared, ptx.SharedCluster:
		return sharedWindow
	case ptx.Local:
		return localWindow
	case ptx.Param:
		return paramWindow
	}
	return 0
}

// convertAddress compiles cvta and cvta.to.
func (c *compiler) convertAddress(o *op) {
	delta := uint64(0)
	to, space := c.has("to"), c.takeSpace()
	if delta = windowOf(space); to {
		delta = -delta
	}
	if t := c.takeType(); t.Bits != 64 {
		c.fail("addresses have 64 bits")
	}
	c.dstSrc(o, u64, u64)
	o.alu = lift1(func(a uint64) uint64 { return a + delta })
	o.ramp = func(a, _, _ ramp) (ramp, bool) { return a.plus(ramp{base: delta}), true }
}

// isSpace compiles isspacep.space p, a.
func (c *compiler) isSpace(o *op) {
	space := c.takeSpace()
	c.args(2)
	c.src(&o.a, 1, u64)
	o.p, _ = c.dstPreds()
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var yes uint32
		for i, a := range w.regs[o.a] {
			region := a >> RegionShift
			in := region == windowOf(space)>>RegionShift && region != 0 || space == ptx.Global && region >= FirstRegion
			if in && (space != ptx.Shared || w.owns(a)) {
				yes |= 1 << i
			}
		}
		w.setPred(o.p, yes, mask)
		return nil
	}
}
