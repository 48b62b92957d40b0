package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// narrowFloat is a floating-point format of 4 or 6 bits, of the OCP specification "Microscaling Formats" (2023). It
// has neither infinities nor NaNs.
type narrowFloat struct {
	*float8 // of the same codes, but for the sign
	bits    int
	packed  int // bits from one to the other of a pair
}

var narrowFloats = map[string]narrowFloat{
	"e2m1x2": {newFloat8(2, 1, 0x7), 4, 4},
	"e2m3x2": {newFloat8(2, 3, 0x1f), 6, 8},
	"e3m2x2": {newFloat8(3, 2, 0x1f), 6, 8},
}

// convertNarrow compiles the conversions of pairs of them:
//
//	cvt.rn.satfinite{.relu}.{e2m1x2,e2m3x2,e3m2x2}.f32 d, a, b;   a goes to the upper half
//	cvt.rn{.relu}.f16x2.{e2m1x2,e2m3x2,e3m2x2} d, a;
func (c *compiler) convertNarrow(o *op, cv conversion, name string) {
	f, other := narrowFloats[name], c.takeAnyType()
	if m := c.program.module; m.SM < 100 || m.Feature == "" || !m.AtLeast(8, 6) {
		c.fail("conversions of .%s need target sm_100a and PTX 8.6", name)
	}
	pair := ptx.Type{Class: ptx.Bits, Bits: 2 * f.packed, Lanes: 1}
	narrows := other == typeF32
	halves := ptx.Type{Class: ptx.Float, Bits: 16, Lanes: 2}
	if cv.mode != toNearestEven || cv.integral || cv.sat || cv.ftz || cv.satfinite != narrows || !narrows && other != halves {
		c.fail("this conversion is not implemented")
	}
	if narrows {
		o.alu = lift2(func(a, b uint64) uint64 {
			return f.rounded(float64(f32(a)), cv.relu)<<f.packed | f.rounded(float64(f32(b)), cv.relu)
		})
		c.dstSrc(o, pair, typeF32, typeF32)
		return
	}
	o.alu = lift1(func(a uint64) uint64 { return f.half(a>>f.packed, cv.relu)<<16 | f.half(a, cv.relu) })
	c.dstSrc(o, b32, pair)
}

// rounded encodes x. A NaN becomes the largest number.
func (f narrowFloat) rounded(x float64, relu bool) uint64 {
	if x != x {
		x = math.Inf(1)
	}
	code := f.rectified(x, relu)
	return code>>7<<(f.bits-1) | code&0x7f
}

// half is the value of the lowest bits of a as a half.
func (f narrowFloat) half(a uint64, relu bool) uint64 {
	sign := a >> (f.bits - 1) & 1
	h := binary16.encode(f.decode(sign<<7|a&widthMask(f.bits-1)), toNearestEven)
	if relu {
		h = binary16.rectify(h)
	}
	return h
}
