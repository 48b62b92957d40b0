package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

// multiply24 compiles mul24 and mad24, on the low 24 bits of their sources. The product has 48 bits;
// .hi is bits 16 to 47.
func (c *compiler) multiply24(o *op) {
	part, mad := c.take("lo", "hi"), c.in.Op == "mad24"
	sat := mad && part == "hi" && c.has("sat")
	t := c.takeType()
	if part == "" || t != u32 && t != s32 || sat && t != s32 {
		c.fail("%s takes .lo or .hi, and .u32 or .s32; .sat needs .hi.s32", c.in.Op)
	}
	shift := 0
	if part == "hi" {
		shift = 16
	}
	factor := ptx.Type{Class: t.Class, Bits: 24, Lanes: 1}
	product := func(a, b uint64) int64 { return int64(extend(a, factor)) * int64(extend(b, factor)) >> shift }
	switch {
	case sat:
		o.alu = lift3(func(a, b, c uint64) uint64 { return clampS32(int64(int32(product(a, b))) + int64(int32(c))) })
		c.dstSrc(o, t, t, t, t)
	case mad:
		o.alu = lift3(func(a, b, c uint64) uint64 { return uint64(uint32(product(a, b)) + uint32(c)) })
		c.dstSrc(o, t, t, t, t)
	default:
		o.alu = lift2(func(a, b uint64) uint64 { return uint64(uint32(product(a, b))) })
		c.dstSrc(o, t, t, t)
	}
}

// sumOfDifference compiles sad: d = c + |a - b|.
func (c *compiler) sumOfDifference(o *op) {
	t := c.takeType()
	o.alu = bySign(t, lift3(sad[uint16]), lift3(sad[uint32]), lift3(sad[uint64]), lift3(sad[int16]), lift3(sad[int32]),
		lift3(sad[int64]))
	c.dstSrc(o, t, t, t, t)
}

func sad[T integer](a, b, c uint64) uint64 {
	x, y := T(a), T(b)
	if x < y {
		x, y = y, x
	}
	return zext(T(c) + (x - y))
}

// findNthSet compiles fns.b32 d, mask, base, offset.
func (c *compiler) findNthSet(o *op) {
	if c.takeType() != b32 {
		c.fail("fns takes .b32")
	}
	o.alu = lift3(fns)
	c.dstSrc(o, b32, b32, b32, b32)
}

// fns finds the set bit of the mask that is |n|-1 set bits away from the base, upward or downward.
// The base itself counts. Where n is 0, only the base will do.
func fns(mask, base, n uint64) uint64 {
	offset, m := int64(int32(n)), uint32(mask)
	if base > 31 {
		return 0xffffffff
	}
	switch {
	case offset == 0:
		m &= 1 << base
	case offset > 0:
		m &= ^uint32(0) << base
	default:
		m &= ^uint32(0) >> (31 - base)
	}
	for k := max(offset, -offset); k > 1 && m != 0; k-- {
		if offset > 0 {
			m &= m - 1
		} else {
			m &^= 1 << (bits.Len32(m) - 1)
		}
	}
	switch {
	case m == 0:
		return 0xffffffff
	case offset > 0:
		return uint64(bits.TrailingZeros32(m))
	}
	return uint64(bits.Len32(m) - 1)
}

// signExtendField compiles szext.mode.type d, a, b: the low b bits of a, extended.
func (c *compiler) signExtendField(o *op) {
	clamp := c.takeClamp()
	t := c.takeType()
	if t != u32 && t != s32 {
		c.fail("szext takes .u32 or .s32")
	}
	o.alu = lift2(func(a, b uint64) uint64 {
		n := int(b & 31)
		switch {
		case clamp && b >= 32:
			return a & widthMask(32)
		case n == 0:
			return 0
		}
		field := ptx.Type{Class: t.Class, Bits: n, Lanes: 1}
		return extend(a, field) & widthMask(32)
	})
	c.dstSrc(o, t, t, u32)
}

// bitMask compiles bmsk.mode.b32 d, a, b: b ones from bit a on.
func (c *compiler) bitMask(o *op) {
	clamp := c.takeClamp()
	if c.takeType() != b32 {
		c.fail("bmsk takes .b32")
	}
	o.alu = lift2(func(a, b uint64) uint64 {
		a, b = a&widthMask(32), b&widthMask(32)
		if clamp {
			a, b = min(a, 32), min(b, 32)
		} else {
			a, b = a&31, b&31
		}
		return (1<<b - 1) << a & widthMask(32)
	})
	c.dstSrc(o, b32, b32, b32)
}

// takeClamp takes .clamp or .wrap.
func (c *compiler) takeClamp() (clamp bool) {
	mode := c.take("clamp", "wrap")
	if mode == "" {
		c.fail("%s needs .clamp or .wrap", c.in.Op)
	}
	return mode == "clamp"
}
