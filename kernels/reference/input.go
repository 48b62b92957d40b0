// Package reference computes the expected result of a collective, in plain Go that shares no code
// with the kernels or the simulator. It regenerates every rank's input from a seed. Each rank can
// therefore verify its result without its peers.
package reference

import (
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
	elements := in.elements()
	store(dst, in.DType.Size, func(to []uint64, at int64) { elements(to, rank, in.First+at) })
}

// store stores elements of so many bytes. The function makes their bits, from an index on.
func store(dst []byte, size int, elements func(to []uint64, at int64)) {
	inParallel(int64(len(dst)/size), 1, func(begin, end int64) {
		var room run
		for at := range runs(begin, end) {
			bits := room.of(at, end)
			elements(bits, at)
			putAll(dst[at*int64(size):], size, bits)
		}
	})
}

// elements returns the function that makes the bits of a rank's elements, from an index on.
func (in Input) elements() func(to []uint64, rank int, first int64) {
	if in.DType.Kind != collective.FloatingPoint {
		return func(to []uint64, rank int, first int64) {
			for i := range to {
				to[i] = uint64(in.integer(rank, first+int64(i)))
			}
		}
	}
	return in.generator().encoded
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
