package approx

// lg2 is MUFU.LG2. Its table is lg2(m) for mantissas m from 1 to 2, in 2^-38.
func lg2(a uint32) uint32 {
	switch c := classify(a); {
	case c == zero:
		return signBit | infinity
	case c == notANumber || a&signBit != 0:
		return nan
	case c == infinite:
		return a
	}
	var logarithm int64 // of the mantissa, in 2^-36
	if a != 1<<mantissaBits*bias {
		s, x := locate(a&mantissaMask, mantissaBits, 6)
		logarithm = lg2Table[s].at(x) >> 2
	}
	sum := int64(exponentOf(a))<<36 + logarithm
	if sum < 0 {
		return single(signBit, ^sum, -36)
	}
	return single(0, sum, -36)
}
