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

func addF32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = f32bits(f32(a[i]) + f32(b[i]))
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

// fma32 computes a*b+c with one rounding. The product of two singles is exact
// in a double, so only the sum is rounded twice; that differs from rounding
// once only where the double lies halfway between two singles, which its low
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
