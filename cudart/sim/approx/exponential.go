package approx

// ex2 is MUFU.EX2. Its table is 2^f for f from 0 to 1, in 2^-38.
func ex2(a uint32) uint32 {
	negative := a&signBit != 0
	switch classify(a) {
	case zero:
		return ex2Position(0).result(ex2Table[:])
	case notANumber:
		return nan
	}
	switch large := exponentOf(a) >= 7; {
	case large && negative:
		return 0
	case large:
		return infinity
	}
	return ex2Position(a).result(ex2Table[:])
}

// ex2Position truncates a, below 128, to a fixed point with 23 bits below the point. The result is 2 to
// the integer times 2 to the fraction. For a negative a the unit inverts the bits of both, which gives a
// fraction lower by 2^-23, except where the fraction is 0.
func ex2Position(a uint32) position {
	exponent, mantissa := exponentOf(a), a&mantissaMask|1<<mantissaBits
	fixed := mantissa << max(exponent, 0) >> max(-exponent, 0)
	integer, fraction := int(fixed>>mantissaBits), fixed&mantissaMask
	if a&signBit != 0 {
		integer = -integer
		if fraction != 0 {
			integer--
			fraction ^= mantissaMask
		}
	}
	s, x := locate(fraction, mantissaBits, 6)
	return position{segment: s, x: x, scale: integer - 38}
}
