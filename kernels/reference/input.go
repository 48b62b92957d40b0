// Package reference computes the expected result of a collective, in plain Go that shares no code
// with the kernels or the simulator. It regenerates every rank's input from a seed. Each rank can
// therefore verify its result without its peers.
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
	// Exact inputs are small integers or powers of two, so that every partial result is
	// representable in the type of the computation. A correct result matches bit for bit, in
	// any order of the ranks.
	Exact Pattern = iota
	// Random inputs use all bits of an integer, and all bits of a float's
	// significand: integers, minima and maxima still match bit for bit, and so do
	// floats whose order is known. Others lie within a bound on the rounding errors.
	Random
)

// Input describes the inputs of all ranks.
type Input struct {
	Seed    uint64
	Pattern Pattern
	DType   collective.DType
	Op      collective.Op // the operation that reduces the inputs
	World   int
	// First is the index of a buffer's first element. It is not 0 for a buffer that holds a
	// later part.
	First int64
	// Accumulator is the floating-point type of the sums, if it is not the default: double for
	// double, float for all others. Example: multimem adds 8-bit floats in half.
	Accumulator collective.DType
	// Ordered: the ranks are reduced in the order 0 to n-1, and results of floats match bit for bit.
	Ordered bool
	// Chain: they are reduced in the order Root+1, ..., n-1, 0, ..., Root, and every partial result but the last is
	// rounded to the element type. Results of floats match bit for bit.
	Chain bool
	Root  int
	// Stepwise allows every partial result to be rounded to the element type, and 8-bit integers to be truncated.
	Stepwise bool
	// ScalesInputs allows what external libraries do for an average: they multiply each input by the rounded reciprocal
	// of the number of ranks before they add. It needs Stepwise.
	ScalesInputs bool
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

// integer returns element i of a rank's input. The element type keeps the lower bits.
func (in *Input) integer(rank int, i int64) int64 {
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
		// Factors from a half to one: the product of n factors is at least 2^-n.
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

func (in *Input) hash(rank int, i int64) uint64 {
	return mix(in.Seed + uint64(rank)*0xd1342543de82ef95 + uint64(i)*0x9e3779b97f4a7c15)
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a changed bit of the input
// changes about half of the output's bits.
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
