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
	// Exact inputs are integers so small that every partial sum over all
	// ranks is representable: a correct result matches bit for bit, in
	// whatever order the additions happen.
	Exact Pattern = iota
	// Random inputs use all bits of the significand and eight binades: a
	// correct result lies within a bound on the rounding errors.
	Random
)

// Input describes the inputs of all ranks.
type Input struct {
	Seed    uint64
	Pattern Pattern
	DType   collective.DType
	World   int
	// First is the index of the element that a buffer begins with, for those
	// that hold a part.
	First int64
}

// Fill writes the input of a rank to dst, a whole number of elements.
func (in Input) Fill(dst []byte, rank int) {
	c := codecOf(in.DType)
	inParallel(int64(len(dst)/c.size), func(begin, end int64) {
		for i := begin; i < end; i++ {
			c.store(dst, i, in.at(rank, in.First+i))
		}
	})
}

// at is element i of a rank's input. It is exact in the element type.
func (in Input) at(rank int, i int64) float32 {
	h := mix(in.Seed + uint64(rank)*0xd1342543de82ef95 + uint64(i)*0x9e3779b97f4a7c15)
	if in.Pattern == Exact {
		m := in.largest()
		return float32(scaled(h, 2*m+1) - m)
	}
	p := in.DType.SignificandBits
	significand := scaled(h, 1<<(p+1)) - 1<<p
	return float32(significand) * powersOfTwo[p+int(h%8)]
}

// largest is the magnitude up to which integers of all ranks add up exactly,
// or somewhat less.
func (in Input) largest() int64 {
	return int64(1) << max(in.DType.SignificandBits-bits.Len(uint(in.World)), 0)
}

// scaled maps the upper half of h evenly to [0, n), for n up to 2^32.
func scaled(h uint64, n int64) int64 { return int64((h >> 32) * uint64(n) >> 32) }

// powersOfTwo holds 2^-i at i.
var powersOfTwo = func() (p [32]float32) {
	for i := range p {
		p[i] = float32(math.Ldexp(1, -i))
	}
	return p
}()

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014): every bit
// of the input moves half of the output's bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// inParallel splits [0, n) among the processors.
func inParallel(n int64, work func(begin, end int64)) {
	const least = 16 << 10
	parts := min(int64(runtime.GOMAXPROCS(0)), n/least+1)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() { work(n*p/parts, n*(p+1)/parts) })
	}
	wg.Wait()
}
