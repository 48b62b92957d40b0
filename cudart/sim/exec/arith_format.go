package exec

import (
	"math"
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

// format is an IEEE 754 binary format of up to 64 bits.
type format struct {
	exponent, mantissa int // field widths; the leading one is not counted
}

var (
	binary16 = format{5, 10}
	bfloat16 = format{8, 7}
	binary32 = format{8, 23}
	binary64 = format{11, 52}
)

func formatOf(t ptx.Type) format {
	switch {
	case t.Class == ptx.BFloat:
		return bfloat16
	case t.Bits == 16:
		return binary16
	case t.Bits == 32:
		return binary32
	}
	return binary64
}

// rounding is a rounding direction.
type rounding uint8

const (
	toNearestEven rounding = iota
	toZero
	toMinusInf
	toPlusInf
	toNearestAway // ties go away from zero
)

func (f format) bias() int        { return 1<<(f.exponent-1) - 1 }
func (f format) infinity() uint64 { return (1<<f.exponent - 1) << f.mantissa }
func (f format) sign() uint64     { return 1 << (f.exponent + f.mantissa) }

// nan is the NaN of arithmetic on GPUs: in formats of up to 32 bits all ones
// but for the sign, whatever NaN went in.
func (f format) nan() uint64 {
	if f == binary64 {
		return nan64
	}
	return f.sign() - 1
}

// pack rounds (-1)^negative * mantissa * 2^exponent to the format. The lowest
// bit of the mantissa may stand for all that lies below it, as long as it lies
// below the rounding position.
func (f format) pack(negative bool, mantissa uint64, exponent int, mode rounding) uint64 {
	sign := uint64(0)
	if negative {
		sign = f.sign()
	}
	if mantissa == 0 {
		return sign
	}
	shift := bits.LeadingZeros64(mantissa)
	mantissa <<= shift
	e := exponent - shift + 63 + f.bias() // biased exponent of the leading one
	drop := 63 - f.mantissa               // bits below the last place
	if e < 1 {                            // subnormal
		drop += 1 - e
		e = 1
	}
	q, rest, half := split64(mantissa, drop)
	if roundsUp(mode, negative, q&1 != 0, rest, half) {
		q++
	}
	// q holds the leading one of a normal number, which adds one to the exponent.
	out := uint64(e-1)<<f.mantissa + q
	if e > 1<<f.exponent || out >= f.infinity() {
		return sign | f.overflow(mode, negative)
	}
	return sign | out
}

// split64 cuts the lowest n bits off m; half is their midpoint.
func split64(m uint64, n int) (q, rest, half uint64) {
	switch {
	case n > 64: // less than half of the last place
		return 0, 1, 2
	case n == 64:
		return 0, m, 1 << 63
	}
	return m >> n, m & (1<<n - 1), 1 << n >> 1
}

func roundsUp(mode rounding, negative, odd bool, rest, half uint64) bool {
	switch mode {
	case toNearestEven:
		return rest > half || rest == half && odd && rest != 0
	case toNearestAway:
		return rest >= half && rest != 0
	case toMinusInf:
		return negative && rest != 0
	case toPlusInf:
		return !negative && rest != 0
	}
	return false
}

// overflow is infinity, or the largest finite number where the mode rounds
// toward it.
func (f format) overflow(mode rounding, negative bool) uint64 {
	if mode == toZero || mode == toMinusInf && !negative || mode == toPlusInf && negative {
		return f.infinity() - 1
	}
	return f.infinity()
}

// encode rounds x to the format. x must be exact, or rounded to odd.
func (f format) encode(x float64, mode rounding) uint64 {
	b := math.Float64bits(x)
	negative, e, m := b>>63 != 0, int(b>>52&0x7ff), b&(1<<52-1)
	switch {
	case x != x:
		return f.nan()
	case e == 0x7ff && negative:
		return f.sign() | f.infinity()
	case e == 0x7ff:
		return f.infinity()
	case e == 0:
		e = 1
	default:
		m |= 1 << 52
	}
	return f.pack(negative, m, e-1075, mode)
}

// decode returns the value of bits, which float64 holds exactly.
func (f format) decode(b uint64) float64 {
	if f == binary64 {
		return math.Float64frombits(b)
	}
	e, m := int(b>>f.mantissa)&(1<<f.exponent-1), b&(1<<f.mantissa-1)
	var x float64
	switch {
	case e == 1<<f.exponent-1 && m != 0:
		return math.NaN()
	case e == 1<<f.exponent-1:
		x = math.Inf(1)
	case e == 0:
		x = math.Ldexp(float64(m), 1-f.bias()-f.mantissa)
	default:
		x = math.Ldexp(float64(m|1<<f.mantissa), e-f.bias()-f.mantissa)
	}
	if b&f.sign() != 0 {
		x = -x
	}
	return x
}

func (f format) isNaN(b uint64) bool { return b&^f.sign() > f.infinity() }

// setSign is the result of an instruction that turns a into b by its sign bit
// alone, as abs and neg do. A NaN is treated as by any other arithmetic.
func (f format) setSign(a, b uint64) uint64 {
	switch {
	case !f.isNaN(a):
		return b
	case f == binary64:
		return quiet64(a)
	}
	return f.nan()
}

// flush replaces a subnormal number by a zero of the same sign.
func (f format) flush(b uint64) uint64 {
	if b&f.infinity() == 0 {
		return b & f.sign()
	}
	return b
}

// saturate clamps to [0, 1]; NaN becomes +0.
func (f format) saturate(b uint64) uint64 {
	switch x := f.decode(b); {
	case !(x > 0):
		return 0
	case x > 1:
		return f.encode(1, toNearestEven)
	}
	return b
}

// rectify is .relu: a negative number becomes +0, and a NaN the canonical one.
func (f format) rectify(b uint64) uint64 {
	switch {
	case f.isNaN(b):
		return f.nan()
	case b&f.sign() != 0:
		return 0
	}
	return b
}

// bound is .satfinite: an infinity becomes the largest finite number of its sign.
func (f format) bound(b uint64) uint64 {
	if b&^f.sign() == f.infinity() {
		return b - 1
	}
	return b
}

// outOfBounds is the NaN that a tensor copy may write for elements outside of the tensor, in both
// formats of 16 bits. Its sign does not matter.
const outOfBounds = 0x7ff7
