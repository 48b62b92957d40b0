package exec

import (
	"math/bits"

	"gpurun/cudart/sim/tensorcore"
)

// Products of the matrices that a warp holds. Those of floats are what tensor cores make of
// them (package tensorcore), the others are exact.

// matrixScratch is memory of a grid for the decoded A and B of one product at a time, and for what a row of a sparse A
// picks of B.
type matrixScratch struct {
	floats   [2][]tensorcore.Element
	integers [2][]int32
	words    [2][]uint64
	columns  []tensorcore.Step // of the columns of a product's tiles

	pickedFloats   [64]tensorcore.Element
	pickedIntegers [64]int32
}

// room returns n elements of scratch memory, which it enlarges where it must.
func room[T any](s *[]T, n int) []T {
	if len(*s) < n {
		*s = make([]T, n)
	}
	return (*s)[:n]
}

// eachAccumulator computes all accumulators of 32 or 64 bits: out = f(row, column, c).
func (w *warp) eachAccumulator(m *mmaInst, out []lanes, f func(row, column int, c uint64) uint64) {
	for j := range out {
		first, left := m.acc.origin(j)
		for lane, start := range &w.regs[m.c[j]] {
			row, column := m.acc.from(first, left, lane)
			out[j][lane] = f(row, column, start)
		}
	}
}

func (w *warp) multiplyDoubles(m *mmaInst, out []lanes) {
	s := &w.grid.scratch
	a, b := m.fragA.words(w, m.a, &s.words[0]), m.fragB.words(w, m.b, &s.words[1])
	w.eachAccumulator(m, out, func(row, column int, sum uint64) uint64 {
		x, y := a.row(row), b.row(column)
		for k := range x {
			sum = fma64(x[k], y[k], sum)
		}
		return sum
	})
}

func (w *warp) multiplyIntegers(m *mmaInst, places *places, out []lanes) {
	s := &w.grid.scratch
	a, b := m.fragA.integers(w, m.a, &s.integers[0]), m.fragB.integers(w, m.b, &s.integers[1])
	w.eachAccumulator(m, out, func(row, column int, start uint64) uint64 {
		return addInteger(start, dotIntegers(a.row(row), pick(places, row, b.row(column), &s.pickedIntegers)), m.saturate)
	})
}

func dotIntegers(x, y []int32) (sum int32) {
	y = y[:len(x)]
	for k := range x {
		sum += x[k] * y[k]
	}
	return sum
}

// addInteger adds a sum of products to an accumulator.
func addInteger(start uint64, sum int32, saturate bool) uint64 {
	exact := int64(int32(start)) + int64(sum)
	if saturate {
		exact = max(-1<<31, min(exact, 1<<31-1))
	}
	return uint64(uint32(exact))
}

func (w *warp) multiplyBits(m *mmaInst, out []lanes) {
	s := &w.grid.scratch
	a, b := m.fragA.words(w, m.a, &s.words[0]), m.fragB.words(w, m.b, &s.words[1])
	w.eachAccumulator(m, out, func(row, column int, start uint64) uint64 {
		return uint64(uint32(start) + dotBits(a.row(row), b.row(column), m.and))
	})
}

// dotBits counts the bits that are set in both rows, or differ.
func dotBits(x, y []uint64, and bool) (sum uint32) {
	for k := range x {
		v := x[k] ^ y[k]
		if and {
			v = x[k] & y[k]
		}
		sum += uint32(bits.OnesCount32(uint32(v)))
	}
	return sum
}
