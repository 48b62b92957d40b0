package exec

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// relation is a comparison without regard to type: which of less, equal,
// greater and unordered satisfy it.
type relation struct{ lt, eq, gt, un bool }

var relations = map[string]relation{
	"eq": {eq: true}, "ne": {lt: true, gt: true},
	"lt": {lt: true}, "le": {lt: true, eq: true}, "gt": {gt: true}, "ge": {gt: true, eq: true},
	"lo": {lt: true}, "ls": {lt: true, eq: true}, "hi": {gt: true}, "hs": {gt: true, eq: true},
	"equ": {eq: true, un: true}, "neu": {lt: true, gt: true, un: true},
	"ltu": {lt: true, un: true}, "leu": {lt: true, eq: true, un: true},
	"gtu": {gt: true, un: true}, "geu": {gt: true, eq: true, un: true},
	"num": {lt: true, eq: true, gt: true}, "nan": {un: true},
}

// takeRelation removes the comparison from the modifiers. It comes first.
func (c *compiler) takeRelation() relation {
	if len(c.mods) > 0 {
		if r, ok := relations[c.mods[0]]; ok {
			c.mods = c.mods[1:]
			return r
		}
	}
	c.fail("%s needs a comparison", c.in.Op)
	return relation{}
}

func compareInt[T integer](r relation) compare {
	switch r {
	case relations["eq"]:
		return compareEqual[T](0)
	case relations["ne"]:
		return compareEqual[T](fullMask)
	case relations["lt"]:
		return compareLess[T](0)
	case relations["ge"]:
		return compareLess[T](fullMask)
	case relations["gt"]:
		return func(a, b *lanes) uint32 { return compareLess[T](0)(b, a) }
	case relations["le"]:
		return func(a, b *lanes) uint32 { return compareLess[T](fullMask)(b, a) }
	}
	return nil
}

func compareEqual[T integer](flip uint32) compare {
	return func(a, b *lanes) uint32 {
		var m uint32
		for i := range a {
			if T(a[i]) == T(b[i]) {
				m |= 1 << i
			}
		}
		return m ^ flip
	}
}

func compareLess[T integer](flip uint32) compare {
	return func(a, b *lanes) uint32 {
		var m uint32
		for i := range a {
			if T(a[i]) < T(b[i]) {
				m |= 1 << i
			}
		}
		return m ^ flip
	}
}

func (f format) compare(r relation, ftz bool) compare {
	return func(a, b *lanes) uint32 {
		var m uint32
		for i := range a {
			x, y := a[i], b[i]
			if ftz {
				x, y = f.flush(x), f.flush(y)
			}
			if r.holds(f.decode(x), f.decode(y)) {
				m |= 1 << i
			}
		}
		return m
	}
}

func compareF32(r relation) compare {
	return func(a, b *lanes) uint32 {
		var m uint32
		for i := range a {
			if r.holds(float64(f32(a[i])), float64(f32(b[i]))) {
				m |= 1 << i
			}
		}
		return m
	}
}

func (r relation) holds(x, y float64) bool {
	switch {
	case x < y:
		return r.lt
	case x > y:
		return r.gt
	case x == y:
		return r.eq
	}
	return r.un
}

// comparison finds the comparison of two values of type t.
func (c *compiler) comparison(r relation, t ptx.Type) compare {
	ftz := c.has("ftz")
	var cmp compare
	switch {
	case t.Lanes != 1:
	case t == typeF32 && !ftz:
		cmp = compareF32(r)
	case t.IsFloat():
		cmp = formatOf(t).compare(r, ftz)
	case r.un: // an integer is never unordered
	default:
		cmp = bySign(t, compareInt[uint16](r), compareInt[uint32](r), compareInt[uint64](r),
			compareInt[int16](r), compareInt[int32](r), compareInt[int64](r))
	}
	if cmp == nil {
		c.fail("this comparison is not implemented")
	}
	return cmp
}

// setp compiles setp.cmp[.bool] p[|q], a, b[, [!]c].
func (c *compiler) setp(o *op) {
	r, combine := c.takeRelation(), c.take("and", "or", "xor")
	t := c.takeType()
	o.kind = opCompare
	o.cmp, o.affineCmp, o.scalarCmp = c.comparison(r, t), r.affine(t), r.scalar(t)
	o.p, o.q = c.dstPreds()
	c.src(&o.a, 1, t)
	c.src(&o.b, 2, t)
	if combine == "" && o.q < 0 && o.p >= 0 {
		c.args(3)
		return
	}
	third, flip := int32(-1), uint32(0)
	if combine != "" {
		third, flip = c.srcPred(c.arg(3))
	}
	o.kind, o.takesAffine = opRun, true
	o.run = func(w *warp, o *op, mask uint32) error {
		yes := w.compare(o)
		no := ^yes
		if third >= 0 {
			with := w.preds[third] ^ flip
			yes, no = combineMasks(combine, yes, with), combineMasks(combine, no, with)
		}
		w.setPred(o.p, yes, mask)
		w.setPred(o.q, no, mask)
		return nil
	}
}

func combineMasks(how string, a, b uint32) uint32 {
	switch how {
	case "and":
		return a & b
	case "or":
		return a | b
	}
	return a ^ b
}

// set compiles set.cmp.dtype.stype: like setp, but the result is a number.
func (c *compiler) set(o *op) {
	r := c.takeRelation()
	if b := c.take("and", "or", "xor"); b != "" {
		c.fail("set does not implement .%s", b)
	}
	ftz := slices.Contains(c.mods, "ftz")
	to, from := c.takeType(), c.takeType()
	if ftz {
		c.mods = append(c.mods, "ftz")
	}
	yes := widthMask(to.Width())
	if to.IsFloat() {
		yes = formatOf(to).encode(1, toNearestEven)
	}
	cmp := c.comparison(r, from)
	o.alu = func(d, a, b, _ *lanes) {
		m := cmp(a, b)
		for i := range d {
			d[i] = yes * uint64(m>>i&1)
		}
	}
	c.dstSrc(o, to, from, from)
}

// selp compiles d = p ? a : b.
func (c *compiler) selp(o *op) {
	t := c.takeType()
	c.args(4)
	c.dst(&o.d, 0, t)
	c.src(&o.a, 1, t)
	c.src(&o.b, 2, t)
	p, flip := c.srcPred(c.arg(3))
	o.kind, o.takesAffine = opRun, true
	o.run = func(w *warp, o *op, mask uint32) error {
		yes := w.preds[p] ^ flip
		switch {
		case mask == fullMask && yes == fullMask && w.copyAffine(o.d, o.a):
			return nil
		case mask == fullMask && yes == 0 && w.copyAffine(o.d, o.b):
			return nil
		}
		w.expandOperands(o)
		a, b := &w.regs[o.a], &w.regs[o.b]
		if mask == fullMask {
			choose(&w.regs[o.d], a, b, yes)
			return nil
		}
		choose(&w.scratch, a, b, yes)
		w.setReg(o.d, &w.scratch, mask)
		return nil
	}
}

// slct compiles d = c >= 0 ? a : b.
func (c *compiler) slct(o *op) {
	t, by := c.takeType(), c.takeType()
	if by != s32 {
		c.fail("slct selects by .s32 only")
	}
	o.alu = lift3(func(a, b, c uint64) uint64 {
		if int32(c) >= 0 {
			return a
		}
		return b
	})
	c.dstSrc(o, t, t, t, s32)
}
