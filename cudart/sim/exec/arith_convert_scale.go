package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// convertScale compiles the conversions of pairs of scale factors, which are powers of two:
//
//	cvt.{rz,rp}.satfinite.ue8m0x2.f32 d, a, b;   a goes to the upper half
//	cvt.{rz,rp}.satfinite.ue8m0x2.bf16x2 d, a;
//	cvt.rn.bf16x2.ue8m0x2 d, a;
func (c *compiler) convertScale(o *op, cv conversion) {
	if m := c.program.module; m.SM < 100 || m.Feature == "" || !m.AtLeast(8, 6) {
		c.fail("conversions of .ue8m0x2 need a target such as sm_100a, and PTX 8.6")
	}
	pairs := ptx.Type{Class: ptx.BFloat, Bits: 16, Lanes: 2}
	other := c.takeAnyType()
	if cv.integral || cv.sat || cv.ftz || cv.relu {
		c.fail("this conversion is not implemented")
	}
	up := cv.mode == toPlusInf
	encodes := cv.satfinite && (up || cv.mode == toZero)
	switch {
	case encodes && other == typeF32:
		c.dstSrc(o, b16, typeF32, typeF32)
		o.alu = lift2(func(a, b uint64) uint64 { return encodeScale(a, up)<<8 | encodeScale(b, up) })
	case encodes && other == pairs:
		c.dstSrc(o, b16, b32)
		o.alu = lift1(func(a uint64) uint64 { return encodeScale(a&0xffff0000, up)<<8 | encodeScale(a<<16, up) })
	case cv.mode == toNearestEven && !cv.satfinite && other == pairs:
		c.dstSrc(o, b32, b16)
		o.alu = lift1(func(a uint64) uint64 { return decodeScale(a>>8&0xff)<<16 | decodeScale(a&0xff) })
	default:
		c.fail("this conversion is not implemented")
	}
}

// encodeScale is the magnitude of a single as UE8M0, whose least number is 2^-127 and whose largest one 2^127.
func encodeScale(single uint64, up bool) uint64 {
	const infinity, half = 0x7f800000, 0x400000
	bits := uint32(single) & math.MaxInt32
	exponent, fraction := bits>>23, bits&0x7fffff
	switch {
	case bits > infinity:
		return 255
	case bits == infinity:
		return 254
	case exponent == 0: // 2^-127 is half of the least normal number
		fraction = max(fraction, half) - half
	}
	if up && fraction != 0 {
		exponent++
	}
	return uint64(min(exponent, 254))
}

// decodeScale is a scale factor as bfloat16.
func decodeScale(code uint64) uint64 {
	switch code {
	case 0:
		return 1 << 6 // subnormal
	case 255:
		return 0x7fff
	}
	return code << 7
}
