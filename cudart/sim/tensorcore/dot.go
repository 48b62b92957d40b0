package tensorcore

import (
	"math"
	"math/bits"
)

// NaN is what every sum in fp32 is that is not a number, and HalfNaN every one in fp16.
const (
	NaN     = 0x7fffffff
	HalfNaN = 0x7fff
)

// Dot returns the bits of c + a[0]*b[0] + a[1]*b[1] and so on, where c is the bits of
// a single. a and b are of one length, at most 4096.
func (m Model) Dot(c uint32, a, b []Element) uint32 {
	if len(a) == 0 && m.Floor <= leastExponent && m.Cut == 0 {
		return alone(c)
	}
	for len(a) > m.Block {
		c = m.sum(c, a[:m.Block], b[:m.Block])
		a, b = a[m.Block:], b[m.Block:]
	}
	return m.sum(c, a, b)
}

// DotHalf is Dot where c and each block's sum are the bits of a half.
func (m Model) DotHalf(c uint16, a, b []Element) uint16 {
	for len(a) > m.Block {
		c = m.sumHalf(c, a[:m.Block], b[:m.Block])
		a, b = a[m.Block:], b[m.Block:]
	}
	return m.sumHalf(c, a, b)
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
	total, last, finite := m.align(x, a, b)
	if !finite {
		return uint32(specialSum(x, a, b, NaN, 23))
	}
	return m.round(total, last)
}

// sumHalf adds a block to c.
func (m Model) sumHalf(c uint16, a, b []Element) uint16 {
	x := half(c)
	total, last, finite := m.align(x, a, b)
	if !finite {
		return uint16(specialSum(x, a, b, HalfNaN, 10))
	}
	return roundHalf(total, last)
}

// align returns the sum of x and the products of a block in units of 2^last, of the last
// bit that is kept, where none of them is an infinity or a NaN.
func (m Model) align(x Element, a, b []Element) (total int64, last int, finite bool) {
	b = b[:len(a)]
	most := max(int32(m.Floor), x.exponent)
	for i := range a {
		most = max(most, a[i].exponent+b[i].exponent)
	}
	if most > special {
		return 0, 0, false
	}
	last = int(most) - 23 - m.Extra
	scale := math.Float64frombits(uint64(1023-last) << 52)
	total = int64(x.value * scale) // a conversion to an integer truncates
	for i := range a {
		total += int64(a[i].value * b[i].value * scale)
	}
	return total, last, true
}

// specialSum is the sum of a block with an infinity or a NaN in it, in a format with so many bits
// after the point. Other products and their sums are finite in fp64.
func specialSum(c Element, a, b []Element, nan uint64, fraction int) uint64 {
	total := c.value
	for i := range a {
		total += a[i].value * b[i].value
	}
	// The NaN is all ones but for the sign.
	infinity := nan >> fraction << fraction
	switch {
	case math.IsInf(total, 1):
		return infinity
	case math.IsInf(total, -1):
		return infinity | (nan + 1)
	}
	return nan
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
		magnitude = toNearest(magnitude, shift)
	default:
		magnitude >>= shift
	}
	magnitude = magnitude >> m.Cut << m.Cut
	switch {
	case magnitude == 0:
		return 0
	case e > 127:
		return sign | 0x7f800000
	}
	// The leading bit adds one to the exponent; a subnormal number has none.
	return sign | uint32(e+126)<<23 + uint32(magnitude)
}

// roundHalf returns the bits of total * 2^exponent as a half, rounded to nearest even.
func roundHalf(total int64, exponent int) uint16 {
	const least, most = -14, 15
	sign, magnitude := uint16(0), uint64(total)
	if total < 0 {
		sign, magnitude = 1<<15, uint64(-total)
	}
	e := max(exponent+bits.Len64(magnitude)-1, least)
	if shift := e - 10 - exponent; shift <= 0 {
		magnitude <<= -shift
	} else {
		magnitude = toNearest(magnitude, shift)
	}
	switch {
	case magnitude == 0:
		return 0
	case e > most:
		return sign | 0x7c00
	}
	return sign | uint16(e+14)<<10 + uint16(magnitude) // what is rounded up to 2^16 is infinite
}

// toNearest shifts to the right and rounds to nearest even.
func toNearest(x uint64, shift int) uint64 {
	if shift > 63 {
		return 0 // of a sum, which has fewer bits
	}
	half, odd := uint64(1)<<(shift-1), x>>shift&1
	return (x + half - 1 + odd) >> shift
}
