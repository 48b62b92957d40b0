package approx

import "math/bits"

// sin is MUFU.SIN after the multiplication by 1/2π that PTX's instruction begins with.
func sin(a uint32) uint32 {
	if c := classify(a); c == infinite || c == notANumber {
		return nan
	}
	return quadrantSine(quadrants(a), a&signBit)
}

// cos is MUFU.COS, likewise. It is the sine of one quadrant more.
func cos(a uint32) uint32 {
	if c := classify(a); c == infinite || c == notANumber {
		return nan
	}
	return quadrantSine(quadrants(a)+1<<mantissaBits, 0)
}

// quadrantSine is the sine of an angle in quadrants of the circle, with 23 bits below the point. The
// table is the sine of the first quadrant, in 2^-37.
func quadrantSine(angle, sign uint32) uint32 {
	return sinePosition(angle, sign).result(sinTable[:])
}

// sinePosition inverts the bits of the fraction in the second and the fourth quadrant.
func sinePosition(angle, sign uint32) position {
	fraction := angle & mantissaMask
	if angle>>mantissaBits&1 != 0 {
		fraction ^= mantissaMask
	}
	if angle>>mantissaBits&2 != 0 {
		sign ^= signBit
	}
	s, x := locate(fraction, mantissaBits, 6)
	return position{s, x, sign, -37}
}

// quadrants is the absolute value of a as an angle in quadrants with 23 bits below the point, modulo 4.
// The product of a and 1/2π is first a single, rounded toward zero: FMUL.RZ.
func quadrants(a uint32) uint32 {
	const inverse = 0xa2f983 // of 2π, times 2^26
	if subnormal(a) {
		return 0
	}
	product := uint64(a&mantissaMask|1<<mantissaBits) * inverse
	dropped := bits.Len64(product) - mantissaBits - 1
	// The product is in 2^(exponent-23-26) turns, and the angle in 2^-25 turns.
	shift := exponentOf(a) - 49 + dropped + 25
	switch product >>= dropped; {
	case shift >= 0:
		product <<= min(shift, 32)
	default:
		product >>= min(-shift, 32)
	}
	return uint32(product) & (4<<mantissaBits - 1)
}
