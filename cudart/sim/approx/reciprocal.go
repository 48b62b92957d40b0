package approx

// rcp is MUFU.RCP. Its table is 1/m for mantissas m from 1 to 2, in 2^-40.
func rcp(a uint32) uint32 {
	sign := a & signBit
	switch classify(a) {
	case zero:
		return sign | infinity
	case infinite:
		return sign
	case notANumber:
		return nan
	}
	return rcpPosition(a).result(rcpTable[:])
}

func rcpPosition(a uint32) position {
	s, x := locate(a&mantissaMask, mantissaBits, 7)
	return position{s, x, a & signBit, -40 - exponentOf(a)}
}
