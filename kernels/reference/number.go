package reference

import (
	"math"

	"gpurun/kernels/collective"
)

// exactNumbers wants the bits of the reduction. No step of it rounds, but for
// the division of an average, which is rounded in the type that is computed in.
func (in Input) exactNumbers() judge {
	c, number := codecOf(in.DType), in.numbers()
	return func(i int64, got uint64) (uint64, bool) {
		partial := number(0, i)
		for rank := 1; rank < in.World; rank++ {
			partial = in.combineNumbers(partial, number(rank, i))
		}
		want := c.encode(in.finish(partial))
		return want, got == want
	}
}

func (in Input) combineNumbers(a, b float64) float64 {
	switch in.Op {
	case collective.Prod:
		return a * b
	case collective.Min:
		return min(a, b)
	case collective.Max:
		return max(a, b)
	default:
		return a + b
	}
}

func (in Input) finish(x float64) float64 {
	switch {
	case in.Op != collective.Avg:
		return x
	case in.DType.Size == 8:
		return x / float64(in.World)
	default:
		return float64(float32(x) / float32(in.World))
	}
}

// unit is the rounding error, relative to the result, of one operation in the
// type that is computed in.
func (in Input) unit() float64 {
	d := in.Accumulator
	switch {
	case in.Stepwise:
		d = in.DType
	case d.Name != "":
	case in.DType.Size == 8:
		d = collective.Double
	default:
		d = collective.Float
	}
	return math.Ldexp(1, -d.SignificandBits)
}

// gamma bounds the relative error of k roundings: γ(k) = ku/(1-ku) (Higham,
// Accuracy and Stability of Numerical Algorithms, 3.1). Where ku reaches 1, there is
// no bound.
func gamma(k int, u float64) float64 {
	if x := float64(k) * u; x < 1 {
		return x / (1 - x)
	}
	return math.Inf(1)
}

// summing bounds the error of a sum relative to Σ|x|. Adding n numbers in any
// order errs by at most γ(n-1) of it (Higham, 4.2), and not at all where no step
// rounds. Step by step in a short type that is no bound for many ranks, but (n-1)u
// is one (Jeannerod and Rump, Improved error bounds for inner products, 2013); an
// average then rounds each input twice more.
func (in Input) summing() float64 {
	switch {
	case in.Stepwise && in.Op == collective.Avg:
		return float64(in.World+2) * in.unit()
	case in.Pattern == Exact:
		return 0
	case in.Stepwise:
		return float64(in.World-1) * in.unit()
	}
	return gamma(in.World-1, in.unit())
}

// sums returns the function that gives the sum of element i of all ranks, and
// how much a computed sum may differ from it.
func (in Input) sums() func(i int64) (sum, bound float64) {
	g, number := in.summing(), in.numbers()
	return func(i int64) (float64, float64) {
		// lost keeps what adding to sum rounds away (Neumaier, 1974), so that
		// the reference is exact enough for doubles.
		var sum, lost, magnitude float64
		for rank := range in.World {
			x := number(rank, i)
			t := sum + x
			if math.Abs(sum) >= math.Abs(x) {
				lost += sum - t + x
			} else {
				lost += x - t + sum
			}
			sum = t
			magnitude += math.Abs(x)
		}
		return sum + lost, g * magnitude
	}
}

// roundedSum wants a value near the sum of all ranks' numbers, or near its
// average.
func (in Input) roundedSum() judge {
	near, sum := in.near(), in.sums()
	return func(i int64, got uint64) (uint64, bool) {
		want, bound := sum(i)
		if in.Op == collective.Avg {
			want /= float64(in.World)
			bound = bound/float64(in.World) + in.unit()*(math.Abs(want)+bound)
		}
		return near(got, want, bound)
	}
}

// roundedProduct wants a value near the product of n numbers, which errs by at
// most γ(n-1) of it. The reference, computed in fp64, errs as much for doubles.
func (in Input) roundedProduct() judge {
	g := 2 * gamma(in.World-1, in.unit())
	near, number := in.near(), in.numbers()
	return func(i int64, got uint64) (uint64, bool) {
		product := 1.0
		for rank := range in.World {
			product *= number(rank, i)
		}
		return near(got, product, g*math.Abs(product))
	}
}

// near accepts what a number that differs from want by no more than bound is
// rounded to. Rounding keeps the order of numbers, so that this is what lies
// between the ends of that interval, rounded. bound gets half a step of the
// subnormals that are computed with, for every step if each rounds to the type, and
// for doubles the rounding of want itself.
func (in Input) near() func(got uint64, want, bound float64) (uint64, bool) {
	c := codecOf(in.DType)
	round := func(x float64) float64 { return c.decode(c.encode(x)) }
	unit, tiny := 0.0, math.Ldexp(0.5, collective.Float.MinExponent)
	if in.Stepwise {
		tiny = float64(in.World) * math.Ldexp(1, in.DType.MinExponent)
	}
	if in.DType.Size == 8 {
		unit, tiny = in.unit(), math.Ldexp(1, collective.Double.MinExponent)
	}
	return func(got uint64, want, bound float64) (uint64, bool) {
		nearest := c.encode(want)
		if got == nearest && bound < math.Inf(1) {
			return nearest, true
		}
		bound += unit*(math.Abs(want)+bound) + tiny
		x := c.decode(got)
		return nearest, round(want-bound) <= x && x <= round(want+bound) // false for a NaN
	}
}
