package exec

import "gpurun/cudart/sim/ptx"

// approximations of one single.
var approximations = map[string]func(float32) float32{
	"ex2": ex2Approx, "lg2": lg2Approx, "sin": sinApprox, "cos": cosApprox, "tanh": tanhApprox,
	"rcp": rcpApprox, "sqrt": sqrtApprox, "rsqrt": rsqrtApprox,
}

// approximations16 have forms on 16-bit floats.
var approximations16 = map[string]func(float32) float32{"ex2": ex2Approx16, "tanh": tanhApprox16}

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
		o.alu = lift1(approximation64(c.in.Op, ftz))
		c.dstSrc(o, t, t)
	case c.in.Op == "div":
		divide := divApprox
		if how == "full" {
			divide = divFull
		}
		o.alu = modify(lift2(func(a, b uint64) uint64 { return f32bits(divide(f32(a), f32(b))) }), binary32, ftz, false)
		c.dstSrc(o, t, t, t)
	default:
		approximation := approximations[c.in.Op]
		o.alu = modify(lift1(func(a uint64) uint64 { return f32bits(approximation(f32(a))) }), binary32, ftz, false)
		c.dstSrc(o, t, t)
	}
}

// approximation64 finds the approximate form on doubles, or nil.
func approximation64(op string, ftz bool) func(a uint64) uint64 {
	switch {
	case op == "rcp" && ftz:
		return rcpApproxFtz64
	case op == "rsqrt" && ftz:
		return rsqrtApproxFtz64
	case op == "rsqrt":
		return rsqrtApprox64
	}
	return nil
}

// approximate16 compiles ex2 and tanh on f16 and bf16. Of those, ex2.bf16 alone flushes.
func (c *compiler) approximate16(o *op, t ptx.Type) {
	approximation, f := approximations16[c.in.Op], formatOf(t)
	if approximation == nil {
		return
	}
	ftz := c.in.Op == "ex2" && c.has("ftz")
	if flushes := c.in.Op == "ex2" && f == bfloat16; ftz != flushes {
		c.fail("ex2 takes .ftz on .bf16, and not on .f16")
	}
	if f == bfloat16 {
		c.needs(90, 7, 8)
	}
	one := func(a, _, _ uint64) uint64 {
		if ftz {
			a = f.flush(a)
		}
		d := f.encode(float64(approximation(float32(f.decode(a)))), toNearestEven)
		if ftz {
			d = f.flush(d)
		}
		return d
	}
	if t.Lanes == 2 {
		o.alu = packed(one, t.Bits)
	} else {
		o.alu = unpacked(one)
	}
	c.dstSrc(o, t, t)
}
