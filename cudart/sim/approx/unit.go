package approx

import (
	"math"
	"math/bits"
)

// nan is the only NaN of the unit.
const nan = 0x7fffffff

// Fields of a single.
const (
	signBit      = 1 << 31
	infinity     = 0xff << 23
	mantissaBits = 23
	mantissaMask = 1<<mantissaBits - 1
	bias         = 127
)

// positionBits is the number of bits of a position in a segment.
const positionBits = 17

// segment is a quadratic polynomial. c0 includes the constant that rounds the result.
type segment struct {
	c0     int64
	c1, c2 int32
}

// at is the polynomial at position x of the segment, in the fixed point of the table.
func (s segment) at(x uint32) int64 {
	return s.c0 + int64(s.c1)*int64(x) + int64(s.c2)*int64(square(x))
}

// square is about x*x>>19. Of the products of two bits of x, the squarer adds those alone that are
// worth 1<<18 or more. With the upper 8 bits and the lower 9 bits taken apart, these are all products
// among the upper bits, and none among the lower ones.
func square(x uint32) uint32 {
	const lowerBits = positionBits/2 + 1
	upper, lower := x>>lowerBits, x&(1<<lowerBits-1)
	sum := upper * upper
	for i := range lowerBits {
		sum += 2 * (upper >> i & 1) * (lower >> (lowerBits - i))
	}
	return sum >> 1
}

// position is an operand after its reduction: where in the table the result comes from, and how the
// sum becomes a float.
type position struct {
	segment int
	x       uint32 // below 1<<positionBits
	sign    uint32 // of the result
	scale   int    // the result is the sum times 1<<scale
}

// locate splits a fraction of width bits into the segment, which its upper bits select, and the
// position in the segment. A fraction that has fewer bits than a position is shifted to the left.
func locate(fraction uint32, width, segmentBits int) (segment int, x uint32) {
	below := width - segmentBits
	segment = int(fraction >> below)
	x = fraction & (1<<below - 1)
	if below < positionBits {
		return segment, x << (positionBits - below)
	}
	return segment, x >> (below - positionBits)
}

// single is sum times 1<<scale, truncated to 24 significant bits. Results below the normal ones are 0,
// those above are infinite.
func single(sign uint32, sum int64, scale int) uint32 {
	n := bits.Len64(uint64(sum))
	exponent := scale + n - 1 + bias
	switch {
	case n == 0 || exponent <= 0:
		return sign
	case exponent >= 255:
		return sign | infinity
	case n > mantissaBits+1:
		sum >>= n - mantissaBits - 1
	default:
		sum <<= mantissaBits + 1 - n
	}
	return sign | uint32(exponent)<<mantissaBits | uint32(sum)&mantissaMask
}

func (p position) result(table []segment) uint32 {
	return single(p.sign, table[p.segment].at(p.x), p.scale)
}

// class says which results of an operation need no table.
type class int

const (
	number class = iota
	zero         // or subnormal, which the unit takes as 0
	infinite
	notANumber
)

func classify(a uint32) class {
	switch exponent := a >> mantissaBits & 0xff; {
	case exponent == 0:
		return zero
	case exponent < 255:
		return number
	case a&mantissaMask == 0:
		return infinite
	}
	return notANumber
}

// exponentOf is the power of two of a normal number.
func exponentOf(a uint32) int { return int(a>>mantissaBits&0xff) - bias }

func subnormal(a uint32) bool { return a&^uint32(signBit) < 1<<mantissaBits }

// times is the product that FMUL computes.
func times(a, b uint32) uint32 {
	product := math.Float32frombits(a) * math.Float32frombits(b)
	if product != product {
		return nan
	}
	return math.Float32bits(product)
}

// timesFlushed is times with .ftz, for operands that are flushed. A product below the smallest normal number is a zero,
// unless it rounds up to that number with all the bits of a normal one.
func timesFlushed(a, b uint32) uint32 {
	const roundsUp = 0x1p-126 - 0x1p-151
	exact := float64(math.Float32frombits(a)) * float64(math.Float32frombits(b)) // has 48 bits
	if math.Abs(exact) < roundsUp {
		return (a ^ b) & signBit
	}
	return times(a, b)
}

// flush replaces a subnormal number by a zero of the same sign.
func flush(a uint32) uint32 {
	if subnormal(a) {
		return a & signBit
	}
	return a
}
