package exec

import "gpurun/cudart/sim/ptx"

// convertFloat8 compiles the conversions of pairs of 8-bit floats:
//
//	cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32 d, a, b;   a goes to the upper half
//	cvt.rn.satfinite.{e4m3x2,e5m2x2}.f16x2 d, a;
//	cvt.rn.f16x2.{e4m3x2,e5m2x2} d, a;
func (c *compiler) convertFloat8(o *op, cv conversion, relu bool) {
	b16, halves := ptx.Type{Class: ptx.Bits, Bits: 16, Lanes: 1}, ptx.Type{Class: ptx.Float, Bits: 16, Lanes: 2}
	satfinite := c.has("satfinite")
	if m := c.program.module; m.SM < 89 || !m.AtLeast(8, 1) {
		c.fail("conversions of 8-bit floats need target sm_89 and PTX 8.1")
	}
	if cv.mode != toNearestEven || cv.integral || cv.sat || cv.ftz || relu || cv.to.IsFloat8() != satfinite {
		c.fail("this conversion is not implemented")
	}
	switch f := float8Of(cv.to); {
	case cv.to.IsFloat8() && cv.to.Lanes == 2 && cv.from == typeF32:
		c.dstSrc(o, b16, typeF32, typeF32)
		o.alu = lift2(func(a, b uint64) uint64 { return f.encode(float64(f32(a)))<<8 | f.encode(float64(f32(b))) })
	case cv.to.IsFloat8() && cv.to.Lanes == 2 && cv.from == halves:
		c.dstSrc(o, b16, b32)
		o.alu = lift1(func(a uint64) uint64 {
			return f.encode(binary16.decode(a>>16&0xffff))<<8 | f.encode(binary16.decode(a&0xffff))
		})
	case cv.to == halves && cv.from.IsFloat8() && cv.from.Lanes == 2:
		f = float8Of(cv.from)
		c.dstSrc(o, b32, b16)
		half := func(x uint64) uint64 { return binary16.encode(f.decode(x), toNearestEven) }
		o.alu = lift1(func(a uint64) uint64 { return half(a>>8)<<16 | half(a&0xff) })
	default:
		c.fail("this conversion is not implemented")
	}
}
