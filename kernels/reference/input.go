// Package reference says what a collective's result must be: naive Go that
// shares no code with the kernels or the simulator. It regenerates every
// rank's input from a seed, so that each rank can check its result alone.
package reference

import (
	"math"
	"math/bits"
	"runtime"
	"sync"

	"gpurun/kernels/collective"
)

// Pattern is a kind of input.
type Pattern int

const (
	// Exact inputs are so small, or such powers of two, that every partial
	// result is representable in the type that it is computed in: a correct
	// result matches bit for bit, in whatever order the ranks are taken.
	Exact Pattern = iota
	// Random inputs use all bits of an integer, and all bits of a float's
	// significand: integers, minima and maxima still match bit for bit, other
	// results of floats lie within a bound on the rounding errors.
	Random
)

// Input describes the inputs of all ranks.
type Input struct {
	Seed    uint64
	Pattern Pattern
	DType   collective.DType
	Op      collective.Op // that the inputs are meant for
	World   int
	// First is the index of the element that a buffer begins with, for those
	// that hold a part.
	First int64
	// Accumulator is the floating-point type that sums are computed in, where
	// that is not double for double and float for the others: multimem adds
	// 8-bit floats in half.
	Accumulator collective.DType
	// Stepwise allows what libraries of others do: every partial result is
	// rounded to the element type, integers of 8 bits are cut to these, and an
	// average multiplies each input by the rounded reciprocal before it adds.
	Stepwise bool
}

// Fill writes the input of a rank to dst, a whole number of elements.
func (in Input) Fill(dst []byte, rank int) {
	size := in.DType.Size
	store := in.storer()
	inParallel(int64(len(dst)/size), 1, func(begin, end int64) {
		for i := begin; i < end; i++ {
			put(dst, i, size, store(rank, in.First+i))
		}
	})
}

// storer returns the function that makes the bits of element i of a rank.
func (in Input) storer() func(rank int, i int64) uint64 {
	if in.DType.Kind != collective.FloatingPoint {
		return func(rank int, i int64) uint64 { return uint64(in.integer(rank, i)) }
	}
	c, number := codecOf(in.DType), in.numbers()
	return func(rank int, i int64) uint64 { return c.encode(number(rank, i)) }
}

// integer is element i of a rank's input; its lower bits count.
func (in Input) integer(rank int, i int64) int64 {
	h := in.hash(rank, i)
	if in.Pattern == Random {
		return int64(h)
	}
	const largest = 9
	if in.DType.Kind == collective.Unsigned {
		return scaled(h, largest+1)
	}
	return scaled(h, 2*largest+1) - largest
}

// numbers returns the function that gives element i of a rank's input. The
// elements are exact in the element type.
func (in Input) numbers() func(rank int, i int64) float64 {
	p := in.DType.SignificandBits
	ulp := math.Ldexp(1, -p)
	switch {
	case in.Pattern == Exact && in.Op == collective.Prod:
		return func(rank int, i int64) float64 { return exactFactor(rank, in.hash(rank, i)) }
	case in.Pattern == Exact:
		m := in.largest()
		return func(rank int, i int64) float64 { return float64(scaled(in.hash(rank, i), 2*m+1) - m) }
	case in.Op == collective.Prod:
		// Factors from a half to one: their product gets small, but not all at once.
		return func(rank int, i int64) float64 {
			h := in.hash(rank, i)
			return withSign(h, float64(1<<(p-1)+randomBits(h, p-1))*ulp)
		}
	}
	binades := in.binades(ulp)
	return func(rank int, i int64) float64 {
		h := in.hash(rank, i)
		return withSign(h, float64(randomBits(h, p))*binades[h>>1%8])
	}
}

// binades are the scales of eight binades below one, or of as many as leave
// room for all bits of the significand, over again.
func (in Input) binades(ulp float64) (scales [8]float64) {
	room := min(8, -in.DType.MinExponent-in.DType.SignificandBits+1)
	for i := range scales {
		scales[i] = math.Ldexp(ulp, -(i % room))
	}
	return scales
}

// exactFactor is 1 or -1, or for the first seven ranks perhaps 2 or -2, so that
// the product of all ranks is representable in every type.
func exactFactor(rank int, h uint64) float64 {
	const doublers = 7
	if rank < doublers && h>>1&1 == 1 {
		return withSign(h, 2)
	}
	return withSign(h, 1)
}

// withSign negates x by the lowest bit of h, but makes no negative zero.
func withSign(h uint64, x float64) float64 {
	return x*float64(1-2*int64(h&1)) + 0
}

// randomBits takes n bits from the upper end of h, the most random ones.
func randomBits(h uint64, n int) int64 { return int64(h >> (64 - n)) }

// largest is the magnitude up to which integers of all ranks add up exactly,
// or somewhat less.
func (in Input) largest() int64 {
	return int64(1) << max(in.DType.SignificandBits-bits.Len(uint(in.World)), 0)
}

// scaled maps h evenly to [0, n).
func scaled(h uint64, n int64) int64 {
	hi, _ := bits.Mul64(h, uint64(n))
	return int64(hi)
}

func (in Input) hash(rank int, i int64) uint64 {
	return mix(in.Seed + uint64(rank)*0xd1342543de82ef95 + uint64(i)*0x9e3779b97f4a7c15)
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every bit
// of the input moves half of the output's bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// inParallel splits [0, n) among the processors, in multiples of unit, which
// divides n.
func inParallel(n, unit int64, work func(begin, end int64)) {
	const least = 16 << 10
	parts := min(int64(runtime.GOMAXPROCS(0)), n/least+1)
	var wg sync.WaitGroup
	for p := range parts {
		begin, end := n/unit*p/parts*unit, n/unit*(p+1)/parts*unit
		wg.Go(func() { work(begin, end) })
	}
	wg.Wait()
}
