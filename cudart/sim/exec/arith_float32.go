package exec

import "math"

const nan32 = 0x7fffffff

func f32(x uint64) float32 { return math.Float32frombits(uint32(x)) }

// f32bits is the register image of x, with the one NaN that GPUs produce.
func f32bits(x float32) uint64 {
	if x != x {
		return nan32
	}
	return uint64(math.Float32bits(x))
}

// addF32 looks for NaNs among four results at a time: their sum is one then. It also is if it
// adds infinities, which does no harm.
func addF32(d, a, b, _ *lanes) {
	for at := 0; at < lanesBytes; at += quadBytes {
		x, y, z := quadF32At(a, at), quadF32At(b, at), quadAt(d, at)
		p, q, r, s := x[0].low+y[0].low, x[1].low+y[1].low, x[2].low+y[2].low, x[3].low+y[3].low
		if t := (p + q) + (r + s); t != t {
			z[0], z[1], z[2], z[3] = f32bits(p), f32bits(q), f32bits(r), f32bits(s)
			continue
		}
		z[0], z[1] = uint64(math.Float32bits(p)), uint64(math.Float32bits(q))
		z[2], z[3] = uint64(math.Float32bits(r)), uint64(math.Float32bits(s))
	}
}

func subF32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = f32bits(f32(a[i]) - f32(b[i]))
	}
}

func mulF32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = f32bits(f32(a[i]) * f32(b[i]))
	}
}

func divF32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = f32bits(f32(a[i]) / f32(b[i]))
	}
}

func fmaF32(d, a, b, c *lanes) {
	for i := range d {
		d[i] = f32bits(fma32(f32(a[i]), f32(b[i]), f32(c[i])))
	}
}

// fma32 computes a*b+c with one rounding. The product of two quadF32 is exact
// in a double, so only the sum is rounded twice; that differs from rounding
// once only where the double lies halfway between two quadF32, which its low
// bits show, or among the subnormals.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	if math.Float64bits(s)&(1<<29-1) != 1<<28 && math.Abs(s) >= 0x1p-126 {
		return float32(s)
	}
	return float32(addOdd(p, float64(c)))
}

// addOdd is x+y rounded to odd: toward zero, but an inexact result gets an odd
// last bit. Rounding that again to a format of at most 50 bits gives what a
// single rounding gives.
func addOdd(x, y float64) float64 {
	s := x + y
	if math.IsInf(s, 0) || s != s {
		return s
	}
	t := s - x
	rest := (x - (s - t)) + (y - t) // s + rest is x+y exactly (Knuth's two-sum)
	b := math.Float64bits(s)
	if rest == 0 || b&1 != 0 {
		return s
	}
	if (rest > 0) == (s > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

func rcp32(a uint64) uint64  { return f32bits(1 / f32(a)) }
func sqrt32(a uint64) uint64 { return f32bits(float32(math.Sqrt(float64(f32(a))))) }

func abs32(a uint64) uint64 { return binary32.setSign(a, a&0x7fffffff) }
func neg32(a uint64) uint64 { return binary32.setSign(a, a^0x80000000) }
