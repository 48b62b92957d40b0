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
	case d.Name != "":
	case in.DType.Size == 8:
		d = collective.Double
	default:
		d = collective.Float
	}
	return math.Ldexp(1, -d.SignificandBits)
}

// gamma bounds the relative error of k roundings: γ(k) = ku/(1-ku) (Higham,
// Accuracy and Stability of Numerical Algorithms, 3.1).
func gamma(k int, u float64) float64 { return float64(k) * u / (1 - float64(k)*u) }

// roundedSum wants a value near the sum s, or near its average. Adding n
// numbers in any order errs by at most γ(n-1)·Σ|x| (Higham, 4.2).
func (in Input) roundedSum() judge {
	g := gamma(in.World-1, in.unit())
	near, number := in.near(), in.numbers()
	return func(i int64, got uint64) (uint64, bool) {
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
		want, bound := sum+lost, g*magnitude
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

// near accepts what differs from want by no more than bound and a rounding to p
// bits: 2^-p of the result, or half a step of the subnormals. That is how small
// types round the result, and for doubles how the reference rounds want. In
// fp32, bound covers the rounding already.
func (in Input) near() func(got uint64, want, bound float64) (uint64, bool) {
	c := codecOf(in.DType)
	unit := math.Ldexp(1, -in.DType.SignificandBits)
	if in.DType.Name == collective.Float.Name {
		unit = 0
	}
	tiny := math.Ldexp(0.5, in.DType.MinExponent)
	return func(got uint64, want, bound float64) (uint64, bool) {
		bound += unit*(math.Abs(want)+bound) + tiny
		return c.encode(want), math.Abs(c.decode(got)-want) <= bound // false for a NaN
	}
}
