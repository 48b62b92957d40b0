package approx

// rsqrt is MUFU.RSQ. Its table is 1/sqrt(m) for m from 1 to 4, in 2^-40.
func rsqrt(a uint32) uint32 {
	switch c := classify(a); {
	case c == zero:
		return a&signBit | infinity
	case c == notANumber || a&signBit != 0:
		return nan
	case c == infinite:
		return 0
	}
	p := rootPosition(a)
	if p.segment == 0 && p.x == 0 { // a power of 4
		return single(0, 1, -p.scale)
	}
	p.scale = -40 - p.scale
	return p.result(rsqrtTable[:])
}

// sqrt is MUFU.SQRT. Its table is sqrt(m) for m from 1 to 4, in 2^-40.
func sqrt(a uint32) uint32 {
	switch c := classify(a); {
	case c == zero:
		return a & signBit
	case c == notANumber || a&signBit != 0:
		return nan
	case c == infinite:
		return a
	}
	p := rootPosition(a)
	p.scale -= 40
	return p.result(sqrtTable[:])
}

// rootPosition takes a as m times a power of 4. The lower half of the table is for m below 2. The scale
// is the exponent of the root of the power.
func rootPosition(a uint32) position {
	exponent := exponentOf(a)
	s, x := locate(a&mantissaMask, mantissaBits, 6)
	return position{segment: exponent&1<<6 | s, x: x, scale: exponent >> 1}
}
