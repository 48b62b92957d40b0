package tensorcore

import (
	"math"
	"math/bits"
)

// NaN is what every sum is that is not a number.
const NaN = 0x7fffffff

// Dot returns the bits of c + a[0]*b[0] + a[1]*b[1] and so on, where c is the bits of
// a single. a and b are of one length, at most 4096.
func (m Model) Dot(c uint32, a, b []Element) uint32 {
	if len(a) == 0 && m.Floor <= leastExponent {
		return alone(c)
	}
	for len(a) > m.Block {
		c = m.sum(c, a[:m.Block], b[:m.Block])
		a, b = a[m.Block:], b[m.Block:]
	}
	return m.sum(c, a, b)
}

// alone is the sum of c and nothing, where no bit of it is below the last one that is kept.
func alone(c uint32) uint32 {
	switch magnitude := c &^ (1 << 31); {
	case magnitude == 0:
		return 0
	case magnitude > 0x7f800000:
		return NaN
	}
	return c
}

// sum adds a block to c.
func (m Model) sum(c uint32, a, b []Element) uint32 {
	x := single(c)
	b = b[:len(a)]
	most := max(int32(m.Floor), x.exponent)
	for i := range a {
		most = max(most, a[i].exponent+b[i].exponent)
	}
	if most > special {
		return specialSum(x, a, b)
	}
	// In units of the last bit that is kept. A conversion to an integer truncates.
	last := int(most) - 23 - m.Extra
	scale := math.Float64frombits(uint64(1023-last) << 52)
	total := int64(x.value * scale)
	for i := range a {
		total += int64(a[i].value * b[i].value * scale)
	}
	return m.round(total, last)
}

// specialSum is the sum of a block with an infinity or a NaN in it. Other
// products and their sums are finite in fp64.
func specialSum(c Element, a, b []Element) uint32 {
	total := c.value
	for i := range a {
		total += a[i].value * b[i].value
	}
	if math.IsNaN(total) {
		return NaN
	}
	return math.Float32bits(float32(total))
}

// round returns the bits of total * 2^exponent as a single. A sum that is too small for one
// is +0, whatever its sign.
func (m Model) round(total int64, exponent int) uint32 {
	sign, magnitude := uint32(0), uint64(total)
	if total < 0 {
		sign, magnitude = 1<<31, uint64(-total)
	}
	// The exponent of the leading bit; that of a subnormal number is the least.
	e := max(exponent+bits.Len64(magnitude)-1, leastExponent)
	shift := e - 23 - exponent
	switch {
	case shift <= 0:
		magnitude <<= -shift
	case m.Nearest:
		half, odd := uint64(1)<<(shift-1), magnitude>>shift&1
		magnitude = (magnitude + half - 1 + odd) >> shift
	default:
		magnitude >>= shift
	}
	switch {
	case magnitude == 0:
		return 0
	case e > 127:
		return sign | 0x7f800000
	}
	// The leading bit adds one to the exponent; a subnormal number has none.
	return sign | uint32(e+126)<<23 + uint32(magnitude)
}
