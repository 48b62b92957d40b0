package reference

import (
	"math"
	"math/bits"

	"gpurun/kernels/collective"
)

// generator makes the floating-point numbers of all ranks' inputs. Each is made of a hash of its rank and its index,
// and is exact in the element type.
type generator struct {
	in      Input
	draw    draw
	bits    int        // of a significand
	largest int64      // magnitude of an integer
	scales  [8]float64 // of significands
}

// draw is how a number is made of a hash.
type draw int

const (
	integers  draw = iota // from -largest to largest
	nonzero               // the same without 0
	doublings             // powers of two: see exactFactor
	fractions             // from a half to one, of both signs: the product of n of them is at least 2^-n
	spread                // over eight binades below one, of both signs
)

// generator makes the numbers of the input's pattern.
func (in Input) generator() *generator {
	g := &generator{in: in, bits: in.DType.SignificandBits, largest: in.largest()}
	ulp := math.Ldexp(1, -g.bits)
	switch {
	case in.Pattern == Exact && in.Op == collective.Prod:
		g.draw = doublings
	case in.Pattern == Exact:
		g.draw = integers
	case in.Op == collective.Prod:
		g.draw, g.scales[0] = fractions, ulp
	default:
		g.draw, g.scales = spread, in.binades(ulp)
	}
	return g
}

// number makes a number of a rank of a hash.
func (g *generator) number(rank int, h uint64) float64 {
	switch g.draw {
	case integers:
		return integer(h, g.largest)
	case nonzero:
		return withSign(h, float64(1+scaled(h, g.largest)))
	case doublings:
		return exactFactor(rank, h)
	case fractions:
		return withSign(h, float64(1<<(g.bits-1)+randomBits(h, g.bits-1))*g.scales[0])
	default:
		return significand(h, g.bits, &g.scales)
	}
}

func integer(h uint64, largest int64) float64 { return float64(scaled(h, 2*largest+1) - largest) }

func significand(h uint64, n int, scales *[8]float64) float64 {
	return withSign(h, float64(randomBits(h, n))*scales[h>>1%8])
}

// at is element i of a rank's input.
func (g *generator) at(rank int, i int64) float64 { return g.number(rank, g.in.hash(rank, i)) }

// fill makes elements of a rank's input, from an index on. The usual draws have loops without a call, which take half
// of the time.
func (g *generator) fill(to []float64, rank int, first int64) {
	next := g.in.hashes(rank, first)
	switch g.draw {
	case integers:
		for i := range to {
			to[i] = integer(mix(next), g.largest)
			next += hashStep
		}
	case spread:
		for i := range to {
			to[i] = significand(mix(next), g.bits, &g.scales)
			next += hashStep
		}
	default:
		for i := range to {
			to[i] = g.number(rank, mix(next))
			next += hashStep
		}
	}
}

// encoded makes their bits.
func (g *generator) encoded(to []uint64, rank int, first int64) {
	var room [longestRun]float64
	numbers := room[:len(to)]
	g.fill(numbers, rank, first)
	encodeAll(g.in.DType, to, numbers)
}

// numbers returns the function that gives element i of a rank's input.
func (in Input) numbers() func(rank int, i int64) float64 { return in.generator().at }

// binades are scales of eight binades below one. A type with too few exponents for all bits of the
// significand in eight binades gets fewer, repeated.
func (in Input) binades(ulp float64) (scales [8]float64) {
	room := min(8, -in.DType.MinExponent-in.DType.SignificandBits+1)
	for i := range scales {
		scales[i] = math.Ldexp(ulp, -(i % room))
	}
	return scales
}

// exactFactor is 1 or -1, or for the first seven ranks also 2 or -2. The product of all ranks is
// then at most 2^7, which every floating-point type represents.
func exactFactor(rank int, h uint64) float64 {
	const doublers = 7
	if rank < doublers && h>>1&1 == 1 {
		return withSign(h, 2)
	}
	return withSign(h, 1)
}

// withSign negates x if the lowest bit of h is set. It never returns a negative zero.
func withSign(h uint64, x float64) float64 {
	return x*float64(1-2*int64(h&1)) + 0
}

// randomBits returns the n upper bits of h.
func randomBits(h uint64, n int) int64 { return int64(h >> (64 - n)) }

// largest is a magnitude up to which the sum of all ranks' integers is exact.
func (in Input) largest() int64 {
	return int64(1) << max(in.DType.SignificandBits-bits.Len(uint(in.World)), 0)
}

// scaled maps h evenly to [0, n).
func scaled(h uint64, n int64) int64 {
	hi, _ := bits.Mul64(h, uint64(n))
	return int64(hi)
}

// hash is that of element i of a rank.
func (in *Input) hash(rank int, i int64) uint64 { return mix(in.hashes(rank, i)) }

// hashes is what mix makes the hash of element i of. That of the next element is larger by hashStep.
func (in *Input) hashes(rank int, i int64) uint64 {
	return in.Seed + uint64(rank)*0xd1342543de82ef95 + uint64(i)*hashStep
}

const hashStep = 0x9e3779b97f4a7c15

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a changed bit of the input
// changes about half of the output's bits.
func mix(x uint64) uint64 {
	x += hashStep
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
