package exec

import "gpurun/cudart/sim/approx"

// The approximations are those of an H200: package approx.

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
