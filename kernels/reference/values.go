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
