package exec

import "gpurun/cudart/sim/ptx"

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

// comparison finds the comparison of two values of type t; of the lower half where t is packed.
func (c *compiler) comparison(r relation, t ptx.Type, ftz bool) compare {
	var cmp compare
	switch {
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
