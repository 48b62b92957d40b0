package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// conversion is a parsed cvt.
type conversion struct {
	to, from ptx.Type
	mode     rounding
	integral bool // .rni and so on: round to an integer
	sat, ftz bool
}

var roundings = map[string]conversion{
	"rn": {mode: toNearestEven}, "rz": {mode: toZero}, "rm": {mode: toMinusInf}, "rp": {mode: toPlusInf},
	"rni": {mode: toNearestEven, integral: true}, "rzi": {mode: toZero, integral: true},
	"rmi": {mode: toMinusInf, integral: true}, "rpi": {mode: toPlusInf, integral: true},
}

func (c *compiler) convert(o *op) {
	cv := roundings[c.take("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi")]
	relu := c.has("relu")
	cv.sat, cv.ftz = c.has("sat"), c.has("ftz")
	cv.to, cv.from = c.takeAnyType(), c.takeAnyType()
	switch {
	case c.err != nil:
		return
	case cv.to.IsFloat8() || cv.from.IsFloat8():
		c.convertFloat8(o, cv, relu)
		return
	}
	if cv.to.Class == ptx.Bits || cv.from.Class == ptx.Bits || cv.from.Lanes != 1 || relu {
		c.fail("this conversion is not implemented")
		return
	}
	if cv.to.Lanes == 2 {
		c.convertPair(o, cv)
		return
	}
	c.args(2)
	c.dst(&o.d, 0, cv.to)
	c.src(&o.a, 1, cv.from)
	o.alu = cv.fast()
	if o.alu != nil && !cv.to.IsFloat() {
		o.affine = widenAffine(cv.to, cv.from)
	}
	if o.alu == nil {
		f := cv.scalar()
		// A destination wider than its type is sign- or zero-extended.
		mask := widthMask(c.width(c.arg(0), cv.to))
		o.alu = lift1(func(a uint64) uint64 { return f(a) & mask })
	}
}

// convertPair compiles cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
func (c *compiler) convertPair(o *op, cv conversion) {
	if cv.from != typeF32 || cv.integral {
		c.fail("this conversion is not implemented")
		return
	}
	cv.to.Lanes = 1
	f := cv.scalar()
	o.alu = lift2(func(a, b uint64) uint64 { return f(a)<<16 | f(b) })
	if cv.mode == toNearestEven && !cv.sat && !cv.ftz {
		if cv.to.Class == ptx.BFloat {
			o.alu = pairBF16
		} else {
			o.alu = pairF16
		}
	}
	c.dstSrc(o, b32, cv.from, cv.from)
}

// fast finds a loop for the conversions that kernels spend time in.
func (cv conversion) fast() alu {
	if cv.sat || cv.ftz || cv.integral || cv.mode != toNearestEven {
		return nil
	}
	switch [2]ptx.Type{cv.to, cv.from} {
	case [2]ptx.Type{typeF32, typeF16}:
		return f16ToF32
	case [2]ptx.Type{typeF32, typeBF16}:
		return bf16ToF32
	case [2]ptx.Type{typeF16, typeF32}:
		return singleF16
	case [2]ptx.Type{typeBF16, typeF32}:
		return singleBF16
	case [2]ptx.Type{u64, u32}, [2]ptx.Type{u32, u64}:
		return widen[uint32]
	case [2]ptx.Type{u32, u16}, [2]ptx.Type{u64, u16}, [2]ptx.Type{u16, u32}:
		return widen[uint16]
	case [2]ptx.Type{s64, s32}:
		return widen[int32]
	}
	return nil
}

func widen[T integer](d, a, _, _ *lanes) {
	for at := 0; at < lanesBytes; at += quadBytes {
		x, z := quadAt(a, at), quadAt(d, at)
		z[0], z[1], z[2], z[3] = uint64(T(x[0])), uint64(T(x[1])), uint64(T(x[2])), uint64(T(x[3]))
	}
}

// scalar is the conversion of one value. Integers come out sign-extended to
// 64 bits.
func (cv conversion) scalar() func(a uint64) uint64 {
	switch {
	case cv.from.IsFloat() && cv.to.IsFloat():
		return cv.floatToFloat
	case cv.from.IsFloat():
		return cv.floatToInt
	case cv.to.IsFloat():
		return cv.intToFloat
	}
	return cv.intToInt
}

func (cv conversion) floatToFloat(a uint64) uint64 {
	from, to := formatOf(cv.from), formatOf(cv.to)
	if a &= widthMask(cv.from.Bits); cv.ftz && from == binary32 {
		a = from.flush(a)
	}
	out := to.encode(from.decode(a), cv.mode)
	switch {
	case from.isNaN(a):
		out = cv.convertNaN(a)
	case cv.integral:
		out = to.encode(roundIntegral(from.decode(a), cv.mode), cv.mode)
	}
	if cv.ftz && to == binary32 {
		out = to.flush(out)
	}
	if cv.sat {
		out = to.saturate(out)
	}
	return out
}

// convertNaN keeps sign and payload where a double is involved, as GPUs do,
// and otherwise gives the canonical NaN.
func (cv conversion) convertNaN(a uint64) uint64 {
	from, to := formatOf(cv.from), formatOf(cv.to)
	if from != binary64 && to != binary64 {
		return to.nan()
	}
	if cv.ftz && from == binary32 {
		a = nan32
	}
	payload := a & (1<<from.mantissa - 1) << (52 - from.mantissa) >> (52 - to.mantissa)
	sign := a >> (from.exponent + from.mantissa) << (to.exponent + to.mantissa)
	return sign | to.infinity() | 1<<(to.mantissa-1) | payload
}

func roundIntegral(x float64, mode rounding) float64 {
	switch mode {
	case toZero:
		return math.Trunc(x)
	case toMinusInf:
		return math.Floor(x)
	case toPlusInf:
		return math.Ceil(x)
	}
	return math.RoundToEven(x)
}

// floatToInt clamps to the destination's range.
func (cv conversion) floatToInt(a uint64) uint64 {
	from := formatOf(cv.from)
	if a &= widthMask(cv.from.Bits); cv.ftz && from == binary32 {
		a = from.flush(a)
	}
	if from.isNaN(a) {
		return cv.nanToInt()
	}
	x := roundIntegral(from.decode(a), cv.mode)
	if cv.to.Class == ptx.Signed {
		limit := math.Ldexp(1, cv.to.Bits-1)
		switch {
		case x >= limit:
			return 1<<(cv.to.Bits-1) - 1
		case x < -limit:
			return ^uint64(1<<(cv.to.Bits-1) - 1)
		}
		return uint64(int64(x))
	}
	switch {
	case x <= 0:
		return 0
	case x >= math.Ldexp(1, cv.to.Bits):
		return widthMask(cv.to.Bits)
	}
	return uint64(x)
}

// nanToInt is 0, as the PTX manual says, only where 64 bits are on neither
// side; where they are, GPUs return the top bit alone.
func (cv conversion) nanToInt() uint64 {
	if cv.from.Bits < 64 && cv.to.Bits < 64 {
		return 0
	}
	return extend(1<<(cv.to.Bits-1), cv.to)
}

func (cv conversion) intToFloat(a uint64) uint64 {
	to := formatOf(cv.to)
	x, negative := extend(a, cv.from), false
	if cv.from.Class == ptx.Signed && int64(x) < 0 {
		x, negative = -x, true
	}
	// The leading ones of a 64-bit integer leave pack no room for more digits,
	// and it needs none: the value is exact.
	out := to.pack(negative, x, 0, cv.mode)
	if cv.sat {
		out = to.saturate(out)
	}
	return out
}

func (cv conversion) intToInt(a uint64) uint64 {
	x := extend(a, cv.from)
	if cv.sat {
		return cv.clamp(x)
	}
	return extend(x, cv.to)
}

// clamp limits a 64-bit integer of the source's signedness to the range of the
// destination.
func (cv conversion) clamp(x uint64) uint64 {
	negative := cv.from.Class == ptx.Signed && int64(x) < 0
	if cv.to.Class == ptx.Signed {
		limit := uint64(1)<<(cv.to.Bits-1) - 1
		switch {
		case negative:
			return uint64(max(int64(x), int64(^limit)))
		case x > limit:
			return limit
		}
		return x
	}
	if negative {
		return 0
	}
	return min(x, widthMask(cv.to.Bits))
}

// extend widens the low bits of a to 64 by the rules of type t.
func extend(a uint64, t ptx.Type) uint64 {
	shift := 64 - t.Bits
	if t.Class == ptx.Signed {
		return uint64(int64(a<<shift) >> shift)
	}
	return a << shift >> shift
}
