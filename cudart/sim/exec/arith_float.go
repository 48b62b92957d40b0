package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// floating compiles an arithmetic instruction on floating-point numbers.
// Results are rounded to nearest even: other roundings are refused.
func (c *compiler) floating(o *op, t ptx.Type) {
	if c.take("approx", "full") != "" {
		c.fail("an approximate %s differs between GPUs and is not implemented", c.in.Op)
	}
	c.take("rn")
	ftz, sat := c.has("ftz"), c.has("sat")
	nan, xorsign := c.has("NaN"), c.has("xorsign")
	if xorsign {
		c.fail("%s does not implement .xorsign", c.in.Op)
	}
	f := formatOf(t)
	if ftz && f == binary64 {
		c.fail(".ftz does not apply to .f64")
	}
	switch {
	case t.Lanes == 2:
		o.alu = packed(smallFloat(f, c.in.Op, nan, ftz, sat))
	case t.Bits == 16:
		o.alu = unpacked(smallFloat(f, c.in.Op, nan, ftz, sat))
	default:
		o.alu = modify(wideFloat(f, c.in.Op, nan), f, ftz, sat)
	}
	types := []ptx.Type{t, t, t, t, t}[:min(len(c.in.Args), 5)]
	if want := floatOperands[c.in.Op]; len(c.in.Args) != want {
		c.args(want)
		return
	}
	c.dstSrc(o, types...)
}

// floatOperands counts operands, the destination included.
var floatOperands = map[string]int{
	"add": 3, "sub": 3, "mul": 3, "div": 3, "min": 3, "max": 3,
	"fma": 4, "mad": 4, "abs": 2, "neg": 2, "rcp": 2, "sqrt": 2, "copysign": 3,
}

// wideFloat finds an operation on singles or doubles; nil if there is none.
func wideFloat(f format, op string, nan bool) alu {
	single := f == binary32
	pick := func(s, d alu) alu {
		if single {
			return s
		}
		return d
	}
	switch op {
	case "add":
		return pick(addF32, lift2(add64))
	case "sub":
		return pick(subF32, lift2(sub64))
	case "mul":
		return pick(mulF32, lift2(mul64))
	case "div":
		return pick(divF32, lift2(div64))
	case "fma", "mad":
		return pick(fmaF32, lift3(fma64))
	case "rcp":
		return pick(lift1(rcp32), lift1(rcp64))
	case "sqrt":
		return pick(lift1(sqrt32), lift1(sqrt64))
	case "abs":
		return pick(lift1(abs32), lift1(abs64))
	case "neg":
		return pick(lift1(neg32), lift1(neg64))
	case "min", "max":
		return lift2(f.extremum(op == "max", nan))
	case "copysign":
		return lift2(func(a, b uint64) uint64 { return a&f.sign() | b&^f.sign() })
	}
	return nil
}

// scalarFloat is an operation on one lane of a 16-bit format.
type scalarFloat func(a, b, c uint64) uint64

// smallFloat finds an operation on 16-bit floats. A double holds sums,
// products and odd-rounded fused sums closely enough for a single rounding.
func smallFloat(f format, op string, nan, ftz, sat bool) scalarFloat {
	var fn scalarFloat
	exact := func(g func(a, b, c float64) float64) scalarFloat {
		return func(a, b, c uint64) uint64 {
			return f.encode(g(f.decode(a), f.decode(b), f.decode(c)), toNearestEven)
		}
	}
	switch op {
	case "add":
		fn = exact(func(a, b, _ float64) float64 { return addOdd(a, b) })
	case "sub":
		fn = exact(func(a, b, _ float64) float64 { return addOdd(a, -b) })
	case "mul":
		fn = exact(func(a, b, _ float64) float64 { return a * b })
	case "fma":
		fn = exact(func(a, b, c float64) float64 { return addOdd(a*b, c) })
	case "abs":
		fn = func(a, _, _ uint64) uint64 { return f.setSign(a, a&^f.sign()) }
	case "neg":
		fn = func(a, _, _ uint64) uint64 { return f.setSign(a, a^f.sign()) }
	case "min", "max":
		pick := f.extremum(op == "max", nan)
		fn = func(a, b, _ uint64) uint64 { return pick(a, b) }
	default:
		return nil
	}
	return func(a, b, c uint64) uint64 {
		if ftz {
			a, b, c = f.flush(a), f.flush(b), f.flush(c)
		}
		d := fn(a, b, c)
		if ftz {
			d = f.flush(d)
		}
		if sat {
			d = f.saturate(d)
		}
		return d
	}
}

// unpacked applies f to the low 16 bits, packed to both halves of 32.
func unpacked(f scalarFloat) alu {
	if f == nil {
		return nil
	}
	return lift3(func(a, b, c uint64) uint64 { return f(a&0xffff, b&0xffff, c&0xffff) })
}

func packed(f scalarFloat) alu {
	if f == nil {
		return nil
	}
	return lift3(func(a, b, c uint64) uint64 {
		return f(a&0xffff, b&0xffff, c&0xffff) | f(a>>16&0xffff, b>>16&0xffff, c>>16&0xffff)<<16
	})
}

// extremum is min or max as PTX defines them: a NaN loses against a number
// unless nan is set, and -0 is less than +0.
func (f format) extremum(largest, nan bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		nanA, nanB := f.isNaN(a), f.isNaN(b)
		switch {
		case nanA && nanB && f == binary64:
			return quiet64(b)
		case nanA && nanB, nan && (nanA || nanB):
			return f.nan()
		case nanA:
			return b
		case nanB:
			return a
		}
		x, y := f.decode(a), f.decode(b)
		if x < y || x == y && math.Signbit(x) && !math.Signbit(y) {
			a, b = b, a
		}
		if largest { // a is the larger one
			return a
		}
		return b
	}
}

// modify wraps an operation so that subnormal inputs and results are flushed,
// and the result is clamped.
func modify(fn alu, f format, ftz, sat bool) alu {
	if fn == nil || !ftz && !sat {
		return fn
	}
	return func(d, a, b, c *lanes) {
		in := [3]lanes{*a, *b, *c}
		if ftz {
			for k := range in {
				for i, x := range in[k] {
					in[k][i] = f.flush(x)
				}
			}
		}
		fn(d, &in[0], &in[1], &in[2])
		for i, x := range d {
			if ftz {
				x = f.flush(x)
			}
			if sat {
				x = f.saturate(x)
			}
			d[i] = x
		}
	}
}
