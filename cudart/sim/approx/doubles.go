package approx

import "math"

// Double finds the instruction on .f64, or nil where PTX has none.
func Double(op string, ftz bool) func(a uint64) uint64 {
	switch {
	case op == "rcp" && ftz:
		return func(a uint64) uint64 { return uint64(rcpUpper(uint32(a>>32))) << 32 }
	case op == "rsqrt" && ftz:
		return func(a uint64) uint64 { return uint64(rsqrtUpper(uint32(a>>32))) << 32 }
	case op == "rsqrt":
		return rsqrt64
	}
	return nil
}

// Fields of the upper word of a double.
const (
	upperMantissaBits = 20
	upperMantissaMask = 1<<upperMantissaBits - 1
	upperInfinity     = 0x7ff << upperMantissaBits
	upperBias         = 1023
	// upperShorter is the number of bits by which its mantissa is shorter than a single's.
	upperShorter = mantissaBits - upperMantissaBits
)

// rcpUpper is MUFU.RCP64H, from the upper word of a double to that of its reciprocal.
func rcpUpper(a uint32) uint32 {
	sign := a & signBit
	switch classifyUpper(a) {
	case zero:
		return sign | upperInfinity
	case infinite:
		return sign
	case notANumber:
		return nan
	}
	exponent, mantissa := splitUpper(a)
	return upper(rcp(sign|bias<<mantissaBits|mantissa), -exponent)
}

// rsqrtUpper is MUFU.RSQ64H. As rsqrt it takes the operand as m times a power of 4.
func rsqrtUpper(a uint32) uint32 {
	switch c := classifyUpper(a); {
	case c == zero:
		return a&signBit | upperInfinity
	case c == notANumber || a&signBit != 0:
		return nan
	case c == infinite:
		return 0
	}
	exponent, mantissa := splitUpper(a)
	m := uint32(bias+exponent&1)<<mantissaBits | mantissa
	return upper(rsqrt(m), -(exponent >> 1))
}

func classifyUpper(a uint32) class {
	switch exponent := a >> upperMantissaBits & 0x7ff; {
	case exponent == 0:
		return zero
	case exponent < 0x7ff:
		return number
	case a&upperMantissaMask == 0:
		return infinite
	}
	return notANumber
}

// splitUpper is the power of two of a normal number, and the mantissa as that of a single.
func splitUpper(a uint32) (exponent int, mantissa uint32) {
	return int(a>>upperMantissaBits&0x7ff) - upperBias, a & upperMantissaMask << upperShorter
}

// upper is a normal single times 1<<scale, truncated to the upper word of a double. Results below the normal ones are
// zeros.
func upper(a uint32, scale int) uint32 {
	exponent := exponentOf(a) + scale + upperBias
	if exponent <= 0 {
		return a & signBit
	}
	return a&signBit | uint32(exponent)<<upperMantissaBits | a&mantissaMask>>upperShorter
}

// rsqrt64 is rsqrt.approx.f64. The compiler of the driver scales a subnormal operand by a power of 4.
func rsqrt64(a uint64) uint64 {
	const (
		doubleNaN = 0xfff8 << 48
		quiet     = 1 << 51
	)
	switch x := math.Float64frombits(a); {
	case x != x:
		return a | quiet
	case x == 0:
		return a | math.Float64bits(math.Inf(1))
	case x < 0:
		return doubleNaN
	case math.IsInf(x, 1):
		return 0
	case x < 0x1p-1022:
		return math.Float64bits(refinedRsqrt(x*0x1p54) * 0x1p27)
	default:
		return math.Float64bits(refinedRsqrt(x))
	}
}

// refinedRsqrt improves the result y of the unit. With e = 1 - x*y*y it is y * (1 + e/2 + e*e*3/8), in
// the roundings of the compiler's sequence.
func refinedRsqrt(x float64) float64 {
	y := math.Float64frombits(uint64(rsqrtUpper(uint32(math.Float64bits(x)>>32))) << 32)
	e := math.FMA(x, -(y * y), 1)
	return math.FMA(math.FMA(e, 0.375, 0.5), y*e, y)
}
