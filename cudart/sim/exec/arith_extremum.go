package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// takeExtremumForm takes the modifiers of min and max.
func (c *compiler) takeExtremumForm(form *floatForm, t ptx.Type) {
	if form.three = len(c.in.Args) == 4; form.three {
		c.needs(100, 8, 8)
	}
	if t.Bits == 64 {
		return
	}
	form.nan, form.xorsign, form.abs = c.has("NaN"), c.has("xorsign"), c.has("abs")
	if form.xorsign == form.three && form.abs != form.three || form.three && t != typeF32 {
		c.fail("%s takes .xorsign.abs with two inputs, and .abs with three .f32", form.op)
	}
}

// extremum finds min or max of two inputs, or of three.
func (form floatForm) extremum(f format) scalarFloat {
	pick := f.extremum(form.op == "max", form.nan)
	return func(a, b, c uint64) uint64 {
		sign := (a ^ b) & f.sign()
		if form.abs {
			a, b, c = a&^f.sign(), b&^f.sign(), c&^f.sign()
		}
		d := pick(a, b)
		if form.three {
			d = pick(d, c)
		}
		if form.xorsign && !f.isNaN(d) {
			d |= sign
		}
		return d
	}
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
