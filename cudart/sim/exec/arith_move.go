package exec

import (
	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/simd"
)

// move compiles mov, whose vector forms pack and unpack registers.
func (c *compiler) move(o *op) {
	if n := vectors[c.take("v2", "v4")]; n > 1 {
		c.moveVector(o, n)
		return
	}
	t := c.takeType()
	c.args(2)
	from, to := c.arg(1), c.arg(0)
	switch {
	case c.err != nil:
	case t.Width() == 128:
		c.moveWide(o)
	case t.Class == ptx.Pred && from.Kind == ptx.Special:
		c.readExplicitCluster(o, from.Name)
	case t.Class == ptx.Pred:
		c.predicateLogic(o)
	case from.Kind == ptx.Vector:
		c.pack(o, t, from.Elems)
	case to.Kind == ptx.Vector:
		c.unpack(o, t, to.Elems)
	case from.Kind == ptx.Special && isClock(from.Name):
		c.readClock(o, from.Name, t)
	default:
		o.alu, o.affine = copyLanes, affineRule{kind: affineCopy}
		c.dst(&o.d, 0, t)
		c.src(&o.a, 1, t)
	}
}

// moveVector compiles mov.v2 and mov.v4 between vectors of so many registers.
func (c *compiler) moveVector(o *op, n int) {
	t := c.takeType()
	c.args(2)
	from, to := c.sources(1, n, t), c.destinations(0, n, t)
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		var values [4]lanes // copies: a destination may be a source
		for i, slot := range from {
			values[i] = w.regs[slot]
		}
		for i, slot := range to {
			w.setReg(slot, &values[i], mask)
		}
		return nil
	}
}

func copyLanes(d, a, _, _ *lanes) { *d = *a }

// pack compiles mov.b64 d, {lo, hi}; the first element is the lowest.
func (c *compiler) pack(o *op, t ptx.Type, elems []ptx.Operand) {
	part := ptx.Type{Class: ptx.Bits, Bits: t.Width() / len(elems), Lanes: 1}
	if len(elems) == 2 {
		c.packPair(o, t, part, elems)
		return
	}
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

// packPair packs two elements.
func (c *compiler) packPair(o *op, t, part ptx.Type, elems []ptx.Operand) {
	c.dst(&o.d, 0, t)
	c.srcOperand(&o.a, elems[0], part)
	c.srcOperand(&o.b, elems[1], part)
	o.alu = func(d, low, high, _ *lanes) { packLoop(d, low, high, part.Bits) }
	if f, ok := vectorPacks[part.Bits]; ok && !c.program.loops {
		o.setVector(f)
	}
}

func (c *compiler) unpack(o *op, t ptx.Type, elems []ptx.Operand) {
	part := ptx.Type{Class: ptx.Bits, Bits: t.Width() / len(elems), Lanes: 1}
	if len(elems) == 2 {
		c.unpackPair(o, t, part, elems)
		return
	}
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

// unpackPair unpacks two elements, to registers d and b.
func (c *compiler) unpackPair(o *op, t, part ptx.Type, elems []ptx.Operand) {
	c.src(&o.a, 1, t)
	c.dstOperand(&o.d, elems[0], part)
	c.dstOperand(&o.b, elems[1], part)
	o.kind = opRun
	o.run = func(w *warp, o *op, active uint32) error {
		low, high := &w.regs[o.d], &w.regs[o.b]
		if active == fullMask {
			unpackPair(low, high, &w.regs[o.a], part.Bits)
			return nil
		}
		var parts [2]lanes
		unpackPair(&parts[0], &parts[1], &w.regs[o.a], part.Bits)
		w.setReg(o.d, &parts[0], active)
		w.setReg(o.b, &parts[1], active)
		return nil
	}
	if f, ok := vectorSplits[part.Bits]; ok && !c.program.loops {
		o.step = func(o *op) simd.Step { return f.Step(o.d, o.b, o.a) }
	}
}

// packLoop and unpackLoop are for two parts of 8 to 32 bits. A destination may be a source.
func packLoop(d, low, high *lanes, bits int) {
	mask, shift := widthMask(bits), bits&63
	for at := 0; at < lanesBytes; at += quadBytes {
		x, y, z := quadAt(low, at), quadAt(high, at), quadAt(d, at)
		z[0], z[1] = x[0]&mask|y[0]&mask<<shift, x[1]&mask|y[1]&mask<<shift
		z[2], z[3] = x[2]&mask|y[2]&mask<<shift, x[3]&mask|y[3]&mask<<shift
	}
}

func unpackLoop(low, high, a *lanes, bits int) {
	mask, shift := widthMask(bits), bits&63
	for at := 0; at < lanesBytes; at += quadBytes {
		x, y, z := quadAt(low, at), quadAt(high, at), quadAt(a, at)
		p, q, r, s := z[0], z[1], z[2], z[3]
		x[0], x[1], x[2], x[3] = p&mask, q&mask, r&mask, s&mask
		y[0], y[1], y[2], y[3] = p>>shift&mask, q>>shift&mask, r>>shift&mask, s>>shift&mask
	}
}
