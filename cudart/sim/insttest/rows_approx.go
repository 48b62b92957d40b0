package insttest

import (
	"math"
	"strings"
)

// near is a bound on an error. Where the exact result is special, the result must be the same.
type near struct {
	relative, absolute float64
	ulps               float64
	inside             func(x float64) bool // where the bound holds; nil for everywhere
}

// approximate adds an instruction whose results are near those of a function of doubles.
func (l *list) approximate(types, text string, f Format, n near, exact func(x, y float64) float64) {
	ftz := strings.Contains(text, "ftz")
	value := func(x uint64) float64 {
		if x &= f.mask(); ftz {
			x = f.flush(x)
		}
		return f.value(x)
	}
	one := func(got, a, b uint64) bool { return n.holds(f, got&f.mask(), exact(value(a), value(b)), value(a), ftz) }
	row := Row{Text: text, Types: types, Near: one}
	if strings.Contains(text, "16x2") {
		row.Near = func(got, a, b uint64) bool { return one(got, a, b) && one(got>>16, a>>16, b>>16) }
	}
	*l = append(*l, row)
}

func (n near) holds(f Format, got uint64, want, x float64, ftz bool) bool {
	y, smallest := f.value(got), math.Ldexp(1, 1-f.bias())
	switch {
	case want != want:
		return y != y
	case n.inside != nil && !n.inside(x):
		return true
	case want == 0 || math.IsInf(want, 0):
		return y == want && math.Signbit(y) == math.Signbit(want)
	case math.Abs(want) < smallest*(1+math.Ldexp(1, 1-f.Mantissa)) && ftz && y == 0:
		return true // it was subnormal within the bound
	}
	limit := math.Ldexp(smallest, -f.Mantissa) // the last place of a subnormal
	ulp := math.Ldexp(1, max(math.Ilogb(want), 1-f.bias())-f.Mantissa)
	limit = max(limit, n.relative*math.Abs(want), n.absolute, n.ulps*ulp, ulp/2)
	if largest := f.value(f.infinity() - 1); math.Abs(want) > largest-limit && math.IsInf(y, 0) {
		return math.Signbit(y) == math.Signbit(want)
	}
	return math.Abs(y-want) <= limit
}

func approximateGroups() []Group {
	var l, newer list
	for _, m := range []string{"", "ftz."} {
		l.addApproximations("approx." + m + "f32")
	}
	f32 := "f32 f32"
	l.approximate(f32, "tanh.approx.f32 d, a;", Single, near{relative: math.Exp2(-10.9)},
		func(x, _ float64) float64 { return math.Tanh(x) })
	l.approximate("f64 f64", "rsqrt.approx.f64 d, a;", Double, near{relative: 0x1p-22},
		func(x, _ float64) float64 { return 1 / math.Sqrt(x) })
	// The upper words alone count.
	upper := "f64 b32 b32"
	rcp := "{ .reg .f64 x; mov.b64 x, {b, a}; rcp.approx.ftz.f64 d, x; }"
	l.addUpper(upper, rcp, func(x float64) float64 { return 1 / x })
	l.addUpper(upper, strings.Replace(rcp, "rcp", "rsqrt", 1), func(x float64) float64 { return 1 / math.Sqrt(x) })
	for _, x2 := range []string{"", "x2"} {
		half := map[string]string{"": "b16 b16", "x2": "b32 b32"}[x2]
		l.approximate(half, "tanh.approx.f16"+x2+" d, a;", Half, near{absolute: math.Exp2(-10.987)},
			func(x, _ float64) float64 { return math.Tanh(x) })
		l.approximate(half, "ex2.approx.f16"+x2+" d, a;", Half, near{relative: math.Exp2(-9.9)},
			func(x, _ float64) float64 { return math.Exp2(x) })
		newer.approximate(half, "tanh.approx.bf16"+x2+" d, a;", BFloat, near{absolute: 0x1p-8},
			func(x, _ float64) float64 { return math.Tanh(x) })
		newer.approximate(half, "ex2.approx.ftz.bf16"+x2+" d, a;", BFloat, near{relative: 0x1p-7},
			func(x, _ float64) float64 { return math.Exp2(x) })
	}
	return []Group{{"approximations", sm80, l}, {"approximations of bfloats", sm90, newer}}
}

// addApproximations adds the forms on singles, whose names end alike.
func (l *list) addApproximations(end string) {
	f32 := "f32 f32"
	few := func(x float64) bool { return math.Abs(x) <= 2*math.Pi }
	l.approximate(f32, "ex2."+end+" d, a;", Single, near{ulps: 2.5}, func(x, _ float64) float64 { return math.Exp2(x) })
	l.approximate(f32, "lg2."+end+" d, a;", Single, near{relative: 0x1p-22, absolute: 0x1p-22},
		func(x, _ float64) float64 { return math.Log2(x) })
	l.approximate(f32, "sin."+end+" d, a;", Single, near{absolute: math.Exp2(-20.5), inside: few},
		func(x, _ float64) float64 { return math.Sin(x) })
	l.approximate(f32, "cos."+end+" d, a;", Single, near{absolute: math.Exp2(-20.5), inside: few},
		func(x, _ float64) float64 { return math.Cos(x) })
	l.approximate(f32, "rcp."+end+" d, a;", Single, near{ulps: 1.5}, func(x, _ float64) float64 { return 1 / x })
	l.approximate(f32, "sqrt."+end+" d, a;", Single, near{relative: 0x1p-23},
		func(x, _ float64) float64 { return math.Sqrt(x) })
	l.approximate(f32, "rsqrt."+end+" d, a;", Single, near{relative: math.Exp2(-22.9)},
		func(x, _ float64) float64 { return 1 / math.Sqrt(x) })
	quotient := func(x, y float64) float64 { return x / y }
	l.approximate("f32 f32 f32", "div."+strings.Replace(end, "approx", "full", 1)+" d, a, b;", Single, near{ulps: 2.5},
		quotient)
	// div.approx is a times the reciprocal of b, which vanishes where b is large.
	l.approximate("f32 f32 f32", "div."+end+" d, a, b;", Single, near{ulps: 2.5}, func(x, y float64) float64 {
		if math.Abs(y) > 0x1p126 && !math.IsInf(y, 0) {
			return x * math.Copysign(0, y)
		}
		return x / y
	})
}

// addUpper adds an approximation on the upper words of doubles, a, with 20 bits of mantissa.
func (l *list) addUpper(types, text string, exact func(x float64) float64) {
	upper := Format{11, 20}
	*l = append(*l, Row{Text: text, Types: types, Near: func(got, a, _ uint64) bool {
		x := upper.value(upper.flush(a & 0xffffffff))
		n := near{relative: 0x1p-19}
		return got&0xffffffff == 0 && n.holds(upper, got>>32, exact(x), x, true)
	}})
}
