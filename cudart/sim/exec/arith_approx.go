package exec

import "math"

// The approximations. PTX bounds their errors; a GPU's results differ by a few units in the last
// place between architectures. These are the correctly rounded ones but for rare double rounding:
// computed with doubles, and with the special values of the tables in the ISA. Operands and
// results are flushed by the caller, where the instruction has .ftz.

// ex2Approx is ex2.approx.f32 (9.7.3.21).
func ex2Approx(a float32) float32 { return float32(math.Exp2(float64(a))) }

// lg2Approx is lg2.approx.f32 (9.7.3.20).
func lg2Approx(a float32) float32 { return float32(math.Log2(float64(a))) }

// sinApprox is sin.approx.f32 (9.7.3.18), in radians.
func sinApprox(a float32) float32 { return float32(math.Sin(float64(a))) }

// cosApprox is cos.approx.f32 (9.7.3.19).
func cosApprox(a float32) float32 { return float32(math.Cos(float64(a))) }

// tanhApprox is tanh.approx.f32 (9.7.3.22).
func tanhApprox(a float32) float32 { return float32(math.Tanh(float64(a))) }

// rcpApprox is rcp.approx.f32 (9.7.3.13).
func rcpApprox(a float32) float32 { return 1 / a }

// sqrtApprox is sqrt.approx.f32 (9.7.3.15).
func sqrtApprox(a float32) float32 { return float32(math.Sqrt(float64(a))) }

// rsqrtApprox is rsqrt.approx.f32 (9.7.3.16).
func rsqrtApprox(a float32) float32 { return float32(1 / math.Sqrt(float64(a))) }

// divApprox is div.approx.f32 (9.7.3.8): a times the reciprocal of b, which is flushed to zero
// where b is above 2^126.
func divApprox(a, b float32) float32 {
	if abs := math.Abs(float64(b)); abs > 0x1p126 && !math.IsInf(abs, 1) {
		return a * float32(math.Copysign(0, float64(b)))
	}
	return a / b
}

// divFull is div.full.f32 (9.7.3.8).
func divFull(a, b float32) float32 { return a / b }

// ex2Approx16 and tanhApprox16 are the forms on f16 and bf16 (9.7.4.9 and 9.7.4.10). The caller
// rounds the result to the format.
func ex2Approx16(a float32) float32 { return ex2Approx(a) }

func tanhApprox16(a float32) float32 { return tanhApprox(a) }

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
