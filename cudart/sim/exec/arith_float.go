package exec

import "gpurun/cudart/sim/ptx"

// floatForm is what the modifiers of a floating-point instruction ask for.
type floatForm struct {
	op                string
	mode              rounding
	ftz, sat          bool
	relu, oob         bool // of fma on 16-bit floats
	nan, abs, xorsign bool // of min and max
	three             bool // inputs of min and max
}

// floatOperands counts operands, the destination included.
var floatOperands = map[string]int{
	"add": 3, "sub": 3, "mul": 3, "div": 3, "min": 3, "max": 3,
	"fma": 4, "mad": 4, "abs": 2, "neg": 2, "rcp": 2, "sqrt": 2, "copysign": 3,
}

// floating compiles an arithmetic instruction on floating-point numbers.
func (c *compiler) floating(o *op, t ptx.Type) {
	if how := c.take("approx", "full"); how != "" {
		c.approximateQuotient(o, how, t)
		return
	}
	form := c.takeFloatForm(t)
	if narrow, ok := c.mixedType(t); ok {
		c.mixed(o, form, narrow)
		return
	}
	want := floatOperands[c.in.Op]
	if form.three {
		want = 4
	}
	o.alu = form.alu(t)
	if t.Lanes == 2 && t.Bits == 32 {
		c.needs(100, 8, 6)
		if op := form.op; op != "add" && op != "sub" && op != "mul" && op != "fma" || form.sat {
			c.fail("this form of %s is not implemented", op)
		}
	}
	c.dstSrc(o, []ptx.Type{t, t, t, t}[:want]...)
}

// takeFloatForm takes the modifiers that the instruction has on type t.
func (c *compiler) takeFloatForm(t ptx.Type) floatForm {
	form := floatForm{op: c.in.Op}
	if t.Bits != 64 && t.Class != ptx.BFloat && form.op != "copysign" {
		form.ftz = c.has("ftz")
	}
	switch form.op {
	case "min", "max":
		c.takeExtremumForm(&form, t)
		return form
	case "abs", "neg", "copysign":
		return form
	case "div", "rcp", "sqrt":
		if t.Bits == 16 {
			c.fail("%s does not exist for .%s", form.op, t)
		}
	default:
		if t.Bits != 64 && t.Class != ptx.BFloat {
			form.sat = c.has("sat")
		}
	}
	if t.Bits == 16 {
		c.take("rn")
	} else {
		form.mode = roundings[c.take("rn", "rz", "rm", "rp")].mode
	}
	if form.op == "fma" && t.Bits == 16 {
		form.relu, form.oob = c.has("relu"), c.has("oob")
	}
	return form
}

// alu finds the operation on type t; nil if there is none.
func (form floatForm) alu(t ptx.Type) alu {
	f := formatOf(t)
	if fast := form.halves(t); fast != nil {
		return fast
	}
	switch {
	case t.Lanes == 2:
		return packed(form.scalar(f), t.Bits)
	case t.Bits == 16:
		return unpacked(form.scalar(f))
	case form.mode == toNearestEven && form.op != "min" && form.op != "max":
		return form.modify(wideFloat(f, form.op), f)
	}
	return lift3(form.scalar(f))
}

// wideFloat finds an operation on singles or doubles; nil if there is none.
func wideFloat(f format, op string) alu {
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
	case "copysign":
		return lift2(func(a, b uint64) uint64 { return a&f.sign() | b&^f.sign() })
	}
	return nil
}

// scalarFloat is an operation on one lane of a 16-bit format.
type scalarFloat func(a, b, c uint64) uint64

// scalar finds the operation on one value, with all modifiers; nil if there is none.
func (form floatForm) scalar(f format) scalarFloat {
	fn := form.plain(f)
	if fn == nil {
		return nil
	}
	return func(a, b, c uint64) uint64 {
		if form.oob && (a&^f.sign() == outOfBounds || b&^f.sign() == outOfBounds) {
			return 0
		}
		if form.ftz {
			a, b, c = f.flush(a), f.flush(b), f.flush(c)
		}
		d := fn(a, b, c)
		if form.ftz {
			d = f.flush(d)
		}
		switch {
		case form.sat:
			d = f.saturate(d)
		case form.relu:
			d = f.rectify(d)
		}
		return d
	}
}

// plain is scalar without the modifiers that change operands or the result. A double holds sums,
// products and odd-rounded fused sums of 16-bit floats closely enough for a single rounding.
func (form floatForm) plain(f format) scalarFloat {
	exact := func(g func(a, b, c float64) float64) scalarFloat {
		return func(a, b, c uint64) uint64 {
			return f.encode(g(f.decode(a), f.decode(b), f.decode(c)), toNearestEven)
		}
	}
	small := f == binary16 || f == bfloat16
	switch {
	case form.op == "min" || form.op == "max":
		return form.extremum(f)
	case form.op == "abs":
		return func(a, _, _ uint64) uint64 { return f.setSign(a, a&^f.sign()) }
	case form.op == "neg":
		return func(a, _, _ uint64) uint64 { return f.setSign(a, a^f.sign()) }
	case !small:
		return form.directed(f)
	case form.op == "add":
		return exact(func(a, b, _ float64) float64 { return addOdd(a, b) })
	case form.op == "sub":
		return exact(func(a, b, _ float64) float64 { return addOdd(a, -b) })
	case form.op == "mul":
		return exact(func(a, b, _ float64) float64 { return a * b })
	case form.op == "fma":
		return exact(func(a, b, c float64) float64 { return addOdd(a*b, c) })
	}
	return nil
}

// smallFloat finds an operation on 16-bit floats without modifiers.
func smallFloat(f format, op string) scalarFloat { return floatForm{op: op}.scalar(f) }

// unpacked applies f to the low 16 bits, packed to both halves of a register.
func unpacked(f scalarFloat) alu {
	if f == nil {
		return nil
	}
	return lift3(func(a, b, c uint64) uint64 { return f(a&0xffff, b&0xffff, c&0xffff) })
}

func packed(f scalarFloat, bits int) alu {
	if f == nil {
		return nil
	}
	mask := widthMask(bits)
	return lift3(func(a, b, c uint64) uint64 {
		return f(a&mask, b&mask, c&mask) | f(a>>bits&mask, b>>bits&mask, c>>bits&mask)<<bits
	})
}

// modify wraps an operation so that subnormal inputs and results are flushed, and the result is clamped. A result that
// is the smallest normal number may have been rounded up from a subnormal, which is flushed: see format.roundFlushed.
func (form floatForm) modify(fn alu, f format) alu {
	if fn == nil || !form.ftz && !form.sat {
		return fn
	}
	exactly, smallest := form.directed(f), uint64(1)<<f.mantissa
	return func(d, a, b, c *lanes) {
		in := [3]lanes{*a, *b, *c}
		if form.ftz {
			for k := range in {
				for i, x := range in[k] {
					in[k][i] = f.flush(x)
				}
			}
		}
		fn(d, &in[0], &in[1], &in[2])
		for i, x := range d {
			if form.ftz && exactly != nil && x&^f.sign() == smallest {
				x = exactly(in[0][i], in[1][i], in[2][i])
			}
			if form.ftz {
				x = f.flush(x)
			}
			if form.sat {
				x = f.saturate(x)
			}
			d[i] = x
		}
	}
}
