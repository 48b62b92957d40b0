package approx

// tanhBinade says how the operands with one exponent share segments.
type tanhBinade struct {
	first, segmentBits int
}

// tanhBinades are those from 2^-8 to 2^2.
var tanhBinades = [...]tanhBinade{
	{0, 0}, {1, 0}, {2, 0}, {3, 1}, {5, 1}, {7, 2}, {11, 2}, {15, 2}, {19, 3}, {27, 4}, {43, 3},
}

const (
	tanhLowest  = -8
	tanhHighest = 2
)

// tanh is MUFU.TANH. It is a itself below 2^-8, and 1 from 8 on.
func tanh(a uint32) uint32 {
	switch c := classify(a); {
	case c == notANumber:
		return nan
	case c == infinite || c == number && exponentOf(a) > tanhHighest:
		return a&signBit | bias<<mantissaBits
	case c == zero || exponentOf(a) < tanhLowest:
		return a
	}
	return tanhPosition(a).result(tanhTable[:])
}

// tanhPosition finds the segment in the binade of a. The table is in 2^-40 from 1/2 on, and below
// relative to the binade: in 2^-39 times its lower end.
func tanhPosition(a uint32) position {
	exponent := exponentOf(a)
	binade := tanhBinades[exponent-tanhLowest]
	s, x := locate(a&mantissaMask, mantissaBits, binade.segmentBits)
	return position{binade.first + s, x, a & signBit, min(exponent, -1) - 39}
}
