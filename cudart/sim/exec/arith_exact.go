package exec

import (
	"math"
	"math/bits"
)

// exact is a finite number: the 128 bits high:low times 2^exponent. The lowest bit may stand for all
// that lies below it. The leading one of a number other than zero is bit 126, unless a comment says
// otherwise.
//
// The instructions that round to nearest even have loops of their own; exact is for the other
// rounding directions, for which the host has no instructions.
type exact struct {
	negative  bool
	high, low uint64
	exponent  int
}

// unpack returns the value of bits, which must be finite. It leaves low at 0.
func (f format) unpack(b uint64) exact {
	e, m := int(b>>f.mantissa)&(1<<f.exponent-1), b&(1<<f.mantissa-1)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << f.mantissa
	}
	return exact{b&f.sign() != 0, m, 0, e - f.bias() - f.mantissa - 64}.normal()
}

// round rounds x to the format.
func (f format) round(x exact, mode rounding) uint64 {
	m := x.high
	if x.low != 0 {
		m |= 1
	}
	return f.pack(x.negative, m, x.exponent+64, mode)
}

// roundFlushed rounds x to the format, and makes a zero of a result that is subnormal. As an H200 does with .ftz, it
// decides that before the subnormal loses bits of its significand: what lies between the largest subnormal and the
// smallest normal number is a zero, unless it rounds up to the latter with all the bits of a normal one.
func (f format) roundFlushed(x exact, mode rounding) uint64 {
	wide := format{binary64.exponent, f.mantissa}
	smallest := uint64(1-f.bias()+wide.bias()) << f.mantissa
	if wide.round(x, mode)&^wide.sign() >= smallest {
		return f.round(x, mode)
	}
	if x.negative {
		return f.sign()
	}
	return 0
}

func (x exact) zero() bool { return x.high|x.low == 0 }

// normal moves the leading one to bit 126.
func (x exact) normal() exact {
	if x.zero() {
		return x
	}
	if x.high>>63 != 0 {
		return x.shiftRight(1)
	}
	n := bits.LeadingZeros64(x.high)
	if x.high == 0 {
		n = 64 + bits.LeadingZeros64(x.low)
	}
	n--
	if n >= 64 {
		x.high, x.low = x.low<<(n-64), 0
	} else {
		x.high, x.low = x.high<<n|x.low>>(64-n), x.low<<n
	}
	x.exponent -= n
	return x
}

// shiftRight divides the significand by 2^n; the lowest bit remembers what was lost.
func (x exact) shiftRight(n int) exact {
	x.exponent += n
	var lost uint64
	switch {
	case n >= 128:
		lost = x.high | x.low
		x.high, x.low = 0, 0
	case n >= 64:
		lost = x.low | x.high<<(128-n)
		x.high, x.low = 0, x.high>>(n-64)
	case n > 0:
		lost = x.low << (64 - n)
		x.high, x.low = x.high>>n, x.high<<(64-n)|x.low>>n
	}
	if lost != 0 {
		x.low |= 1
	}
	return x
}

// plus adds. An exact zero from numbers that are not both negative is -0 only where the mode rounds
// down (IEEE 754-2019, 6.3).
func (x exact) plus(y exact, mode rounding) exact {
	switch {
	case x.zero() && y.zero():
		x.negative = x.negative && y.negative || x.negative != y.negative && mode == toMinusInf
		return x
	case x.zero():
		return y
	case y.zero():
		return x
	}
	if x.exponent < y.exponent {
		x, y = y, x
	}
	y = y.shiftRight(x.exponent - y.exponent)
	if x.negative == y.negative {
		var carry uint64
		x.low, carry = bits.Add64(x.low, y.low, 0)
		x.high, _ = bits.Add64(x.high, y.high, carry)
		return x.normal()
	}
	if x.high < y.high || x.high == y.high && x.low < y.low {
		x, y = y, x
	}
	var borrow uint64
	x.low, borrow = bits.Sub64(x.low, y.low, 0)
	x.high, _ = bits.Sub64(x.high, y.high, borrow)
	if x.zero() {
		x.negative = mode == toMinusInf
	}
	return x.normal()
}

func (x exact) negated() exact {
	x.negative = !x.negative
	return x
}

// times, over and root want operands whose low is 0, as unpack returns them.
func (x exact) times(y exact) exact {
	high, low := bits.Mul64(x.high, y.high)
	return exact{x.negative != y.negative, high, low, x.exponent + y.exponent + 128}.normal()
}

// over divides by a number other than zero. The leading one of the quotient is bit 127 or 126.
func (x exact) over(y exact) exact {
	if x.zero() {
		return exact{negative: x.negative != y.negative}
	}
	q, rest := bits.Div64(x.high>>1, x.high<<63, y.high)
	return exact{x.negative != y.negative, q, min(rest, 1), x.exponent - y.exponent - 127}
}

// root is the square root of a number that is not negative. Its leading one is bit 127 or 126.
func (x exact) root() exact {
	if x.zero() {
		return x
	}
	m, e := x.high, x.exponent+64
	if e&1 != 0 {
		m, e = m>>1, e+1 // exact: the significand of a double ends above
	}
	// An estimate of 53 bits, and a step of Newton's method, which leaves an error of 1 at most.
	r := uint64(math.Sqrt(float64(m)) * (1 << 32))
	q, _ := bits.Div64(m, 0, r)
	r = r/2 + q/2 + (r&1+q&1)/2
	for !squareAtMost(r, m) {
		r--
	}
	for squareAtMost(r+1, m) {
		r++
	}
	high, low := bits.Mul64(r, r)
	rest := uint64(0)
	if high != m || low != 0 {
		rest = 1
	}
	return exact{high: r, low: rest, exponent: (e-64)/2 - 64}
}

// squareAtMost reports whether r*r <= m * 2^64.
func squareAtMost(r, m uint64) bool {
	high, low := bits.Mul64(r, r)
	return high < m || high == m && low == 0
}
