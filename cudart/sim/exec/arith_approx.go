package exec

import (
	"math"

	"gpurun/cudart/sim/approx"
)

// The approximations on singles are those of an H200: package approx. The forms on halves use them,
// and round. Those on doubles are correctly rounded to their precision.

// approximation32 finds the approximate form on singles, or nil.
func approximation32(op string, ftz bool) func(a uint64) uint64 {
	compute := approx.Named(op, ftz)
	if compute == nil {
		return nil
	}
	return func(a uint64) uint64 { return uint64(compute(uint32(a))) }
}

// quotient32 is div.approx.f32 or div.full.f32 (9.7.3.8).
func quotient32(full, ftz bool) func(a, b uint64) uint64 {
	divide := approx.Div
	if full {
		divide = approx.DivFull
	}
	return func(a, b uint64) uint64 { return uint64(divide(uint32(a), uint32(b), ftz)) }
}

// rsqrtApprox64 is rsqrt.approx.f64 (9.7.3.16).
func rsqrtApprox64(a uint64) uint64 { return f64bits(1/math.Sqrt(f64(a)), a) }

// upper64 is the format of the upper word of a double, which rcp.approx.ftz.f64 and
// rsqrt.approx.ftz.f64 read and write. The lower word of the result is 0.
var upper64 = format{11, 20}

// rcpApproxFtz64 is rcp.approx.ftz.f64 (9.7.3.14).
func rcpApproxFtz64(a uint64) uint64 {
	return approxUpper64(a, func(x float64) float64 { return 1 / x })
}

// rsqrtApproxFtz64 is rsqrt.approx.ftz.f64 (9.7.3.17).
func rsqrtApproxFtz64(a uint64) uint64 {
	return approxUpper64(a, func(x float64) float64 { return 1 / math.Sqrt(x) })
}

func approxUpper64(a uint64, f func(float64) float64) uint64 {
	x := upper64.flush(a >> 32)
	return upper64.flush(upper64.encode(f(upper64.decode(x)), toNearestEven)) << 32
}
