package reference

import (
	"math"

	"gpurun/kernels/collective"
)

// exactNumbers expects the exact bits of the reduction. No step rounds except the division of an
// average, which rounds in the type of the computation.
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

func (in *Input) combineNumbers(a, b float64) float64 {
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

func (in *Input) finish(x float64) float64 {
	switch {
	case in.Op != collective.Avg:
		return x
	case in.DType.Size == 8:
		return x / float64(in.World)
	default:
		return float64(float32(x) / float32(in.World))
	}
}

// unit is the rounding error, relative to the result, of one operation in the type of the
// computation.
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
// order has a relative error of at most γ(n-1) (Higham, 4.2), and none if no step rounds. For
// Stepwise in a type of few bits and many ranks, γ is unbounded; (n-1)u is then the bound
// (Jeannerod and Rump, Improved error bounds for inner products, 2013). With
// ScalesInputs an average rounds each input twice more.
func (in Input) summing() float64 {
	switch {
	case in.ScalesInputs && in.Op == collective.Avg:
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
		// lost keeps what adding to sum rounds away, so that the reference is exact enough for doubles. Without
		// branches: Knuth, The Art of Computer Programming, volume 2, 4.2.2, theorem B.
		var sum, lost, magnitude float64
		for rank := range in.World {
			x := number(rank, i)
			t := sum + x
			added := t - sum
			lost += (sum - (t - added)) + (x - added)
			sum = t
			magnitude += math.Abs(x)
		}
		return sum + lost, g * magnitude
	}
}

// roundedSum accepts a value near the sum, or near the average, of all ranks' numbers.
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

// roundedProduct accepts a value near the product of n numbers. The relative error of a product is
// at most γ(n-1). For doubles the reference, computed in fp64, has the same error in addition.
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

// near accepts the rounded values of the interval from want-bound to want+bound. Rounding is
// monotonic, so these are the values between the interval's rounded ends. bound is increased to
// cover the rounding of subnormals, in every step if in.Stepwise. For doubles it also covers the
// rounding of want itself.
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
