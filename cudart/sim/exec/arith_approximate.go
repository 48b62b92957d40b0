package exec

import (
	"gpurun/cudart/sim/approx"
	"gpurun/cudart/sim/ptx"
)

// approximate compiles ex2, lg2, sin, cos, tanh and rsqrt, which have no exact form.
func (c *compiler) approximate(o *op) {
	if !c.has("approx") {
		c.fail("%s needs .approx", c.in.Op)
	}
	t := c.takeType()
	if t.Bits == 16 {
		c.approximate16(o, t)
		return
	}
	c.approximateQuotient(o, "approx", t)
}

// approximateQuotient compiles the approximate forms on .f32 and .f64.
func (c *compiler) approximateQuotient(o *op, how string, t ptx.Type) {
	if how == "full" && c.in.Op != "div" {
		c.fail("%s has no .full", c.in.Op)
	}
	ftz := c.in.Op != "tanh" && c.has("ftz")
	switch {
	case t.Lanes != 1 || t.Bits < 32:
		return
	case t.Bits == 64:
		o.alu = lift1(approx.Double(c.in.Op, ftz))
		c.dstSrc(o, t, t)
	case c.in.Op == "div":
		o.alu = lift2(quotient32(how == "full", ftz))
		c.dstSrc(o, t, t, t)
	default:
		o.alu = lift1(approximation32(c.in.Op, ftz))
		c.dstSrc(o, t, t)
	}
}

// approximate16 compiles ex2 and tanh on f16 and bf16. Of those, ex2.bf16 alone flushes.
func (c *compiler) approximate16(o *op, t ptx.Type) {
	f, compute := formatOf(t), approx.Half(c.in.Op)
	if f == bfloat16 {
		compute = approx.BFloat16(c.in.Op)
	}
	if compute == nil {
		return
	}
	ftz := c.in.Op == "ex2" && c.has("ftz")
	if flushes := c.in.Op == "ex2" && f == bfloat16; ftz != flushes {
		c.fail("ex2 takes .ftz on .bf16, and not on .f16")
	}
	if f == bfloat16 {
		c.needs(90, 7, 8)
	}
	one := func(a, _, _ uint64) uint64 { return uint64(compute(uint16(a))) }
	if t.Lanes == 2 {
		o.alu = packed(one, t.Bits)
	} else {
		o.alu = unpacked(one)
	}
	c.dstSrc(o, t, t)
}
