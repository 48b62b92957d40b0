package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// conversion is a parsed cvt.
type conversion struct {
	to, from  ptx.Type
	mode      rounding
	integral  bool // .rni and so on: round to an integer
	sat, ftz  bool
	relu      bool
	satfinite bool
}

var roundings = map[string]conversion{
	"rn": {mode: toNearestEven}, "rz": {mode: toZero}, "rm": {mode: toMinusInf}, "rp": {mode: toPlusInf},
	"rna": {mode: toNearestAway},
	"rni": {mode: toNearestEven, integral: true}, "rzi": {mode: toZero, integral: true},
	"rmi": {mode: toMinusInf, integral: true}, "rpi": {mode: toPlusInf, integral: true},
}

func (c *compiler) convert(o *op) {
	if c.has("pack") {
		c.convertPack(o)
		return
	}
	cv := roundings[c.take("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")]
	cv.relu, cv.satfinite = c.has("relu"), c.has("satfinite")
	cv.sat, cv.ftz = c.has("sat"), c.has("ftz")
	if c.has("rs") {
		c.fail("cvt.rs is not implemented: how it uses the random bits is not modeled")
	}
	if c.has("ue8m0x2") {
		c.convertScale(o, cv)
		return
	}
	if name := c.take("e2m1x2", "e2m3x2", "e3m2x2"); name != "" {
		c.convertNarrow(o, cv, name)
		return
	}
	if c.has("tf32") {
		c.convertTF32(o, cv)
		return
	}
	cv.to, cv.from = c.takeAnyType(), c.takeAnyType()
	switch {
	case c.err != nil:
		return
	case cv.to.IsFloat8() || cv.from.IsFloat8():
		c.convertFloat8(o, cv)
		return
	case cv.to.Lanes == 2:
		c.convertPair(o, cv)
		return
	}
	small := cv.to.IsFloat() && cv.to.Bits == 16
	if cv.to.Class == ptx.Bits || cv.from.Class == ptx.Bits || cv.from.Lanes != 1 || cv.mode == toNearestAway ||
		(cv.relu || cv.satfinite) && !(small && cv.from == typeF32) {
		c.fail("this conversion is not implemented")
		return
	}
	c.args(2)
	c.dst(&o.d, 0, cv.to)
	c.src(&o.a, 1, cv.from)
	o.alu = cv.fast()
	if o.alu != nil && !cv.to.IsFloat() {
		o.affine = affineExtend.extending(cv.to, cv.from)
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
	if cv.from != typeF32 || !cv.to.IsFloat() || cv.to.Bits != 16 || cv.integral || cv.mode == toNearestAway {
		c.fail("this conversion is not implemented")
		return
	}
	o.alu = cv.fastPair()
	cv.to.Lanes = 1
	if o.alu == nil {
		f := cv.scalar()
		o.alu = lift2(func(a, b uint64) uint64 { return f(a)<<16 | f(b) })
	}
	c.dstSrc(o, b32, cv.from, cv.from)
}

func (cv conversion) fastPair() alu {
	switch {
	case cv.modified():
		return nil
	case cv.to.Class == ptx.BFloat:
		return pairBF16
	}
	return pairF16
}

// modified reports whether the conversion does more than rounding to nearest even.
func (cv conversion) modified() bool {
	return cv.sat || cv.ftz || cv.integral || cv.mode != toNearestEven || cv.relu || cv.satfinite
}

// fast finds a loop for the conversions that kernels spend time in.
func (cv conversion) fast() alu {
	if cv.modified() {
		return nil
	}
	switch [2]ptx.Type{cv.to, cv.from} {
	case [2]ptx.Type{typeF32, typeF32}:
		return copyLanes // even a NaN
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
		out = cv.flushResult(a, out)
	}
	switch {
	case cv.sat:
		out = to.saturate(out)
	case cv.satfinite:
		out = to.bound(out)
	}
	if cv.relu {
		out = to.rectify(out)
	}
	return out
}

// flushResult flushes the result of converting a to a single. The smallest normal number may have been rounded up from a
// subnormal: see format.roundFlushed.
func (cv conversion) flushResult(a, out uint64) uint64 {
	if from := formatOf(cv.from); out&^binary32.sign() == 1<<binary32.mantissa && !cv.integral {
		out = binary32.roundFlushed(from.unpack(a), cv.mode)
	}
	return binary32.flush(out)
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
