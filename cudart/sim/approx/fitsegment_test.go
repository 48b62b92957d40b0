package approx

import (
	"math"
	"testing"
)

// The search for a polynomial is a linear program in three integers. With c1 and c2 fixed, each
// bound is an interval for c0; the width of their intersection is a concave function of c1 and c2,
// negative where the intersection is empty. Nested searches find its maximum over the real c1; the
// integers of a solution are near.

const (
	fine       = 1 << 8 // of c1, in the search over the reals
	nearbyC2   = 16
	nearbyC1   = 2
	largestC1  = 1 << 23
	largestC2  = 1 << 19
	unlimited  = math.MaxInt64 / fine / 2
	noSolution = -1
)

// fit finds the polynomial that stays within all bounds: of several, the one with the widest interval
// for c0. It reports whether there is one.
func fit(bounds []bound) (segment, bool) {
	middle := maximum(-largestC2, largestC2, func(c2 int64) int64 {
		constraints := newHulls(bounds, c2)
		_, width := constraints.interval(constraints.bestC1(), fine)
		return width
	})
	var best segment
	widest := int64(noSolution)
	for c2 := middle - nearbyC2; c2 <= middle+nearbyC2; c2++ {
		constraints := newHulls(bounds, c2)
		around := constraints.bestC1() / fine
		for c1 := around - nearbyC1; c1 <= around+nearbyC1; c1++ {
			if c0, width := constraints.interval(c1, 1); width > widest {
				best, widest = segment{c0, int32(c1), int32(c2)}, width
			}
		}
	}
	return best, widest > noSolution
}

// maximum is where a concave function of integers is greatest.
func maximum(a, b int64, f func(int64) int64) int64 {
	for b-a > 3 {
		third := (b - a) / 3
		if f(a+third) < f(b-third) {
			a += third
		} else {
			b -= third
		}
	}
	best, most := a, f(a)
	for x := a + 1; x <= b; x++ {
		if y := f(x); y > most {
			best, most = x, y
		}
	}
	return best
}

type point struct{ x, y int64 }

// hulls are the corners of the bounds less the quadratic term: those of the lower bounds from above,
// and those of the upper bounds from below. Only they can limit c0.
type hulls struct{ upper, lower []point }

func newHulls(bounds []bound, c2 int64) hulls {
	var h hulls
	for x, b := range bounds {
		if b == unbounded {
			continue
		}
		quadratic := c2 * int64(square(uint32(x)))
		h.upper = extend(h.upper, point{int64(x), b.least - quadratic}, 1)
		h.lower = extend(h.lower, point{int64(x), b.most - quadratic}, -1)
	}
	return h
}

// interval is the least c0, and how far above it the greatest one is, both times unit, where c1 is in
// units of 1/unit.
func (h hulls) interval(c1, unit int64) (least, width int64) {
	least, most := int64(-unlimited*fine), int64(unlimited*fine)
	for _, p := range h.upper {
		least = max(least, p.y*unit-c1*p.x)
	}
	for _, p := range h.lower {
		most = min(most, p.y*unit-c1*p.x)
	}
	return least, most - least
}

// bestC1 is the c1, in units of 1/fine, with the widest interval for c0.
func (h hulls) bestC1() int64 {
	return maximum(-largestC1*fine, largestC1*fine, func(c1 int64) int64 {
		_, width := h.interval(c1, fine)
		return width
	})
}

// extend adds a point at the right of a hull, and drops those that are no corners any more.
func extend(hull []point, p point, side int64) []point {
	for n := len(hull); n >= 2; n-- {
		a, b := hull[n-2], hull[n-1]
		if side*((b.x-a.x)*(p.y-a.y)-(b.y-a.y)*(p.x-a.x)) < 0 {
			break
		}
		hull = hull[:n-1]
	}
	return append(hull, p)
}

// The search finds polynomials for the results of the tables.
func TestFitFindsPolynomials(t *testing.T) {
	for name, s := range map[string]segment{"rcp": rcpTable[100], "sqrt": sqrtTable[70], "tanh": tanhTable[20]} {
		const scale = -40
		bounds := make([]bound, 1<<positionBits)
		for x := range bounds {
			bounds[x] = boundOf(single(0, s.at(uint32(x)), scale), scale)
		}
		found, ok := fit(bounds)
		if !ok {
			t.Errorf("%s: none for %v", name, s)
		}
		for x := range uint32(len(bounds)) {
			if got, want := single(0, found.at(x), scale), single(0, s.at(x), scale); got != want {
				t.Fatalf("%s: position %d gives %#x with %v, and %#x with %v", name, x, got, found, want, s)
			}
		}
		bounds[1000] = bound{bounds[1000].least << 1, bounds[1000].most << 1}
		if found, ok := fit(bounds); ok {
			t.Errorf("%s: found %v for results of no polynomial", name, found)
		}
	}
}
