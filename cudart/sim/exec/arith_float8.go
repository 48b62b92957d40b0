package exec

import (
	"math"
	"sort"

	"gpurun/cudart/sim/ptx"
)

// float8 is one of the 8-bit floating-point formats of the OCP specification
// (OFP8, 2023).
type float8 struct {
	values  [128]float64 // of the codes without the sign; NaN and infinities included
	largest uint64       // code of the largest finite value
}

var (
	e4m3 = newFloat8(4, 3, 0x7e) // no infinities
	e5m2 = newFloat8(5, 2, 0x7b)
)

func newFloat8(exponent, mantissa int, largest uint64) *float8 {
	f := &float8{largest: largest}
	bias := 1<<(exponent-1) - 1
	for code := range f.values {
		e, m := code>>mantissa, code&(1<<mantissa-1)
		switch {
		case uint64(code) == largest+1 && m == 0:
			f.values[code] = math.Inf(1)
		case uint64(code) > largest:
			f.values[code] = math.NaN()
		case e == 0:
			f.values[code] = math.Ldexp(float64(m), 1-bias-mantissa)
		default:
			f.values[code] = math.Ldexp(float64(m|1<<mantissa), e-bias-mantissa)
		}
	}
	return f
}

func float8Of(t ptx.Type) *float8 {
	if t.Class == ptx.E4M3 {
		return e4m3
	}
	return e5m2
}

func (f *float8) decode(b uint64) float64 {
	if x := f.values[b&0x7f]; b&0x80 == 0 {
		return x
	} else {
		return -x
	}
}

// encode rounds to nearest even. What is too large becomes the largest finite
// value, as cvt.satfinite does; a NaN becomes the positive one.
func (f *float8) encode(x float64) uint64 {
	if x != x {
		return 0x7f
	}
	sign := uint64(0)
	if math.Signbit(x) {
		sign, x = 0x80, -x
	}
	if x >= f.values[f.largest] {
		return sign | f.largest
	}
	// The first code at or above x; codes are in the order of their values.
	above := uint64(sort.Search(int(f.largest), func(code int) bool { return f.values[code] >= x }))
	if above == 0 {
		return sign
	}
	low, high := x-f.values[above-1], f.values[above]-x
	if low < high || low == high && above&1 != 0 {
		return sign | above - 1
	}
	return sign | above
}

// extremum is min or max: a NaN loses against a number, and -0 is less than +0.
func (f *float8) extremum(largest bool) update {
	return func(a, b uint64) uint64 {
		x, y := f.decode(a), f.decode(b)
		switch {
		case x != x && y != y:
			return 0x7f
		case x != x:
			return b
		case y != y:
			return a
		}
		if (x < y || x == y && math.Signbit(x)) == largest {
			return b
		}
		return a
	}
}
