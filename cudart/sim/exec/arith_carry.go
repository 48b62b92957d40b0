package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

// carryFlag is where compiler.preds keeps the predicate of the carry flag CC.CF. No register has this
// number.
const carryFlag = -1

// carry returns the predicate that holds the carry flag of each lane.
func (c *compiler) carry() int32 {
	p, ok := c.preds[carryFlag]
	if !ok {
		p = int32(len(c.preds)) + c.unit.preds[0]
		c.preds[carryFlag] = p
	}
	return p
}

// carrying computes one lane with a carry, or a borrow, in and out.
type carrying func(a, b, c, in uint64) (d, out uint64)

// withCarry compiles addc, subc, madc, and add.cc, sub.cc and mad.cc, which write the flag alone.
func (c *compiler) withCarry(o *op) {
	reads := c.in.Op == "addc" || c.in.Op == "subc" || c.in.Op == "madc"
	writes := c.has("cc")
	part := ""
	if c.in.Op == "mad" || c.in.Op == "madc" {
		if part = c.take("lo", "hi"); part == "" {
			c.fail("%s needs .lo or .hi", c.in.Op)
		}
	}
	t := c.takeType()
	if t.Lanes != 1 || t.Class != ptx.Unsigned && t.Class != ptx.Signed || t.Bits < 32 {
		c.fail("%s with a carry takes .u32 .s32 .u64 .s64", c.in.Op)
		return
	}
	f := carryingOp(c.in.Op, part, t)
	if part == "" {
		c.dstSrc(o, t, t, t)
	} else {
		c.dstSrc(o, t, t, t, t)
	}
	flag := c.carry()
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		in := uint32(0)
		if reads {
			in = w.preds[flag]
		}
		var out lanes
		var carries uint32
		x, y, z := &w.regs[o.a], &w.regs[o.b], &w.regs[o.c]
		for i := range out {
			d, carry := f(x[i], y[i], z[i], uint64(in>>i&1))
			out[i] = d
			carries |= uint32(carry) << i
		}
		w.setReg(o.d, &out, mask)
		if writes {
			w.setPred(flag, carries, mask)
		}
		return nil
	}
}

// carryingOp finds the function of one lane. Sums of 32 bits carry into bit 32.
func carryingOp(op, part string, t ptx.Type) carrying {
	sum := func(a, b, in uint64) (d, out uint64) { return bits.Add64(a, b, in) }
	difference := func(a, b, in uint64) (d, out uint64) { return bits.Sub64(a, b, in) }
	if t.Bits == 32 {
		sum = func(a, b, in uint64) (d, out uint64) {
			s := a&widthMask(32) + b&widthMask(32) + in
			return s & widthMask(32), s >> 32
		}
		difference = func(a, b, in uint64) (d, out uint64) {
			s := a&widthMask(32) - b&widthMask(32) - in
			return s & widthMask(32), s >> 63
		}
	}
	switch op {
	case "add", "addc":
		return func(a, b, _, in uint64) (d, out uint64) { return sum(a, b, in) }
	case "sub", "subc":
		return func(a, b, _, in uint64) (d, out uint64) { return difference(a, b, in) }
	}
	product := func(a, b uint64) uint64 { return a * b }
	if part == "hi" {
		product = bySign(t, nil, mulHi[uint32, uint64], mulHiU64, nil, mulHi[int32, int64], mulHiS64)
	}
	return func(a, b, c, in uint64) (d, out uint64) { return sum(product(a, b), c, in) }
}
