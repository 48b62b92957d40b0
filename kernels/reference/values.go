package reference

import (
	"math"

	"gpurun/kernels/collective"
)

// Values compares a buffer with expected values of its type, from element first on. Floats may differ by tolerance
// times the magnitude of the expected value, integers not at all; a tolerance of 0 is bit for bit. A NaN matches a NaN.
func Values(d collective.DType, got, want []byte, first int64, tolerance float64) Verdict {
	c := codecOf(d)
	return compare(got, d.Size, first, func(i int64, bits uint64) (uint64, bool) {
		expected := get(want, i-first, d.Size)
		if bits == expected || tolerance == 0 || d.Kind != collective.FloatingPoint {
			return expected, bits == expected
		}
		x, y := c.decode(bits), c.decode(expected)
		return expected, math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= tolerance*math.Abs(y)
	})
}

// PutValue writes the value of an element, rounded to the type.
func PutValue(d collective.DType, dst []byte, i int64, value float64) {
	if d.Kind == collective.FloatingPoint {
		put(dst, i, d.Size, codecOf(d).encode(value))
		return
	}
	put(dst, i, d.Size, uint64(int64(value)))
}

// Value reads an element as a number.
func Value(d collective.DType, buf []byte, i int64) float64 {
	bits := get(buf, i, d.Size)
	switch shift := 64 - 8*d.Size; d.Kind {
	case collective.FloatingPoint:
		return codecOf(d).decode(bits)
	case collective.Signed:
		return float64(int64(bits<<shift) >> shift)
	default:
		return float64(bits)
	}
}
