package suite

import "math"

// half and bfloat are the bits of 16-bit floats.
type (
	half   uint16
	bfloat uint16
)

// float converts exactly.
func (h half) float() float64 {
	mantissa, exponent := float64(h&0x3ff), int(h>>10&31)
	sign := 1.0
	if h>>15 != 0 {
		sign = -1
	}
	if exponent == 0 {
		return sign * math.Ldexp(mantissa, -24)
	}
	return sign * math.Ldexp(mantissa+0x400, exponent-25)
}

// toHalf rounds a number in the range of half to the nearest, ties to even.
func toHalf(x float64) half {
	var sign half
	if math.Signbit(x) {
		sign, x = 0x8000, -x
	}
	if x < 0x1p-14 {
		return sign | half(math.RoundToEven(x*0x1p24))
	}
	_, exponent := math.Frexp(x) // x is at least 2^(exponent-1)
	mantissa := half(math.RoundToEven(math.Ldexp(x, 11-exponent)))
	return sign | half(exponent+14-1)<<10 + mantissa // its bit 10, and a carry, add to the exponent
}

func (b bfloat) float() float64 { return float64(math.Float32frombits(uint32(b) << 16)) }

// toBfloat rounds a number to the nearest, ties to even: to 8 bits, with exponents as those of float32.
func toBfloat(x float64) bfloat {
	_, exponent := math.Frexp(x)
	exponent = max(exponent, -125)
	rounded := math.Ldexp(math.RoundToEven(math.Ldexp(x, 8-exponent)), exponent-8)
	return bfloat(math.Float32bits(float32(rounded)) >> 16)
}
