package reference

import (
	"fmt"
	"math"
	"strconv"

	"gpurun/kernels/collective"
)

// Values compares a buffer with expected values of its type, from element first on. A tolerance is for floats: integers
// are compared bit by bit. A NaN matches a NaN, and an infinity only itself.
func Values(d collective.DType, got, want []byte, first int64, tolerance collective.Tolerance) Verdict {
	c := codecOf(d)
	return compare(got, d.Size, first, each(func(i int64, bits uint64) (uint64, bool) {
		expected := get(want, i-first, d.Size)
		if bits == expected || !tolerates(d, tolerance) {
			return expected, bits == expected
		}
		x, y := c.decode(bits), c.decode(expected)
		switch {
		case math.IsNaN(x) || math.IsNaN(y):
			return expected, math.IsNaN(x) && math.IsNaN(y)
		case math.IsInf(x, 0) || math.IsInf(y, 0):
			return expected, false
		}
		return expected, math.Abs(x-y) <= tolerance.Allows(y)
	}))
}

func tolerates(d collective.DType, t collective.Tolerance) bool {
	return t != (collective.Tolerance{}) && d.Kind == collective.FloatingPoint
}

// Excess says how the first wrong element exceeds a tolerance.
type Excess struct {
	Want, Got string // decimal
	Bound     string // half a sentence
}

// ExcessOf explains what Values has found. It is empty if nothing is wrong, or if no tolerance applies.
func ExcessOf(d collective.DType, v Verdict, t collective.Tolerance) Excess {
	if v.Wrong == 0 || !tolerates(d, t) {
		return Excess{}
	}
	want, got := codecOf(d).decode(v.Want), codecOf(d).decode(v.Got)
	decimal := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 8*max(d.Size, 4)) }
	e := Excess{Want: decimal(want), Got: decimal(got)}
	difference := math.Abs(got - want)
	if math.IsNaN(difference) || math.IsInf(difference, 0) {
		e.Bound = "no tolerance allows this difference"
		return e
	}
	set := fmt.Sprintf("tolerance = %g", t.Relative)
	switch {
	case t.Relative == 0:
		set = fmt.Sprintf("absolute_tolerance = %g", t.Absolute)
	case t.Absolute != 0:
		set += fmt.Sprintf(" with absolute_tolerance = %g", t.Absolute)
	}
	e.Bound = fmt.Sprintf("they differ by %.3g, and %s allows %.3g", difference, set, t.Allows(want))
	return e
}
