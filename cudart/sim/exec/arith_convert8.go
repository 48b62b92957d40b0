package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// convertFloat8 compiles the conversions of pairs of 8-bit floats:
//
//	cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f32 d, a, b;   a goes to the upper half
//	cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.f16x2 d, a;
//	cvt.rn{.relu}.f16x2.{e4m3x2,e5m2x2} d, a;
func (c *compiler) convertFloat8(o *op, cv conversion) {
	b16, halves := ptx.Type{Class: ptx.Bits, Bits: 16, Lanes: 1}, ptx.Type{Class: ptx.Float, Bits: 16, Lanes: 2}
	if m := c.program.module; m.SM < 89 || !m.AtLeast(8, 1) {
		c.fail("conversions of 8-bit floats need target sm_89 and PTX 8.1")
	}
	if cv.mode != toNearestEven || cv.integral || cv.sat || cv.ftz || cv.to.IsFloat8() != cv.satfinite {
		c.fail("this conversion is not implemented")
	}
	switch f := float8Of(cv.to); {
	case cv.to.IsFloat8() && cv.to.Lanes == 2 && cv.from == typeF32:
		c.dstSrc(o, b16, typeF32, typeF32)
		o.alu = lift2(func(a, b uint64) uint64 {
			return f.rectified(float64(f32(a)), cv.relu)<<8 | f.rectified(float64(f32(b)), cv.relu)
		})
	case cv.to.IsFloat8() && cv.to.Lanes == 2 && cv.from == halves:
		c.dstSrc(o, b16, b32)
		o.alu = lift1(func(a uint64) uint64 {
			return f.rectified(binary16.decode(a>>16&0xffff), cv.relu)<<8 | f.rectified(binary16.decode(a&0xffff), cv.relu)
		})
	case cv.to == halves && cv.from.IsFloat8() && cv.from.Lanes == 2:
		f = float8Of(cv.from)
		c.dstSrc(o, b32, b16)
		half := func(x uint64) uint64 {
			h := binary16.encode(f.decode(x), toNearestEven)
			if cv.relu {
				h = binary16.rectify(h)
			}
			return h
		}
		o.alu = lift1(func(a uint64) uint64 { return half(a>>8)<<16 | half(a&0xff) })
	default:
		c.fail("this conversion is not implemented")
	}
}

// rectified encodes x; with relu, a negative one as 0.
func (f *float8) rectified(x float64, relu bool) uint64 {
	if relu && math.Signbit(x) && x == x {
		return 0
	}
	return f.encode(x)
}
