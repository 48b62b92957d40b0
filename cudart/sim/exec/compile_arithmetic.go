package exec

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// Types that the code names often.
var (
	b16      = ptx.Type{Class: ptx.Bits, Bits: 16, Lanes: 1}
	b32      = ptx.Type{Class: ptx.Bits, Bits: 32, Lanes: 1}
	b64      = ptx.Type{Class: ptx.Bits, Bits: 64, Lanes: 1}
	u16      = ptx.Type{Class: ptx.Unsigned, Bits: 16, Lanes: 1}
	u32      = ptx.Type{Class: ptx.Unsigned, Bits: 32, Lanes: 1}
	u64      = ptx.Type{Class: ptx.Unsigned, Bits: 64, Lanes: 1}
	s32      = ptx.Type{Class: ptx.Signed, Bits: 32, Lanes: 1}
	s64      = ptx.Type{Class: ptx.Signed, Bits: 64, Lanes: 1}
	typeF16  = ptx.Type{Class: ptx.Float, Bits: 16, Lanes: 1}
	typeF32  = ptx.Type{Class: ptx.Float, Bits: 32, Lanes: 1}
	typeF64  = ptx.Type{Class: ptx.Float, Bits: 64, Lanes: 1}
	typeBF16 = ptx.Type{Class: ptx.BFloat, Bits: 16, Lanes: 1}
)

// arithmetic tells integers from floating-point numbers.
func (c *compiler) arithmetic(o *op) {
	if slices.Contains(c.mods, "cc") {
		c.withCarry(o)
		return
	}
	t := c.takeType()
	switch {
	case c.err != nil:
	case t.IsFloat():
		c.floating(o, t)
	case t.Lanes == 2:
		c.packedInteger(o, t)
	case c.in.Op == "mul" || c.in.Op == "mad":
		c.multiply(o, t)
	case c.in.Op == "neg":
		o.alu = byWidth[alu](t, negInt[uint16], negInt[uint32], negInt[uint64])
		c.dstSrc(o, t, t)
	case c.in.Op == "abs":
		o.alu = byWidth(t, lift1(absInt[int16]), lift1(absInt[int32]), lift1(absInt[int64]))
		c.dstSrc(o, t, t)
	default:
		o.alu = c.integerBinary(o, t)
		c.dstSrc(o, t, t, t)
	}
}

func (c *compiler) logical(o *op) {
	t := c.takeType()
	if o.alu = c.logic(o, t); t.Class == ptx.Pred || c.err != nil {
		return
	}
	if c.in.Op == "not" || c.in.Op == "cnot" {
		c.dstSrc(o, t, t)
	} else {
		c.dstSrc(o, t, t, t)
	}
}

// dstSrc reads a destination and one to three sources of the given types.
func (c *compiler) dstSrc(o *op, types ...ptx.Type) {
	c.args(len(types))
	for i, t := range types {
		switch i {
		case 0:
			c.dst(&o.d, 0, t)
		case 1:
			c.src(&o.a, 1, t)
		case 2:
			c.src(&o.b, 2, t)
		case 3:
			c.src(&o.c, 3, t)
		}
	}
}
