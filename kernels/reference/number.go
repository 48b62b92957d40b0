package reference

import (
	"math"

	"gpurun/kernels/collective"
)

// exactNumbers expects the reduction without a rounding error. No step rounds except the division of an average, which
// rounds in the type of the computation. Zeros are equal whatever their sign: some kernels send -0 for 0, because a 0
// means that nothing has arrived.
func (in Input) exactNumbers() judge {
	g, negativeZero := in.generator(), uint64(1)<<(8*in.DType.Size-1)
	return func(first int64, got, want []uint64, v *Verdict) {
		g.exact(want, first)
		for k, bits := range got {
			if bits != want[k] && (want[k] != 0 || bits != negativeZero) {
				v.add(first+int64(k), want[k], bits)
			}
		}
	}
}

// exact makes the bits of the reductions of elements from an index on.
func (g *generator) exact(want []uint64, first int64) {
	var room, more [longestRun]float64
	partial, next := room[:len(want)], more[:len(want)]
	g.fill(partial, 0, first)
	for rank := 1; rank < g.in.World; rank++ {
		g.fill(next, rank, first)
		g.in.combineNumbers(partial, next)
	}
	g.in.finish(partial)
	encodeAll(g.in.DType, want, partial)
}

// combineNumbers combines each of the ranks' partial results with the next number.
func (in *Input) combineNumbers(partial, next []float64) {
	switch in.Op {
	case collective.Prod:
		for i, x := range next {
			partial[i] *= x
		}
	case collective.Min:
		for i, x := range next {
			partial[i] = min(partial[i], x)
		}
	case collective.Max:
		for i, x := range next {
			partial[i] = max(partial[i], x)
		}
	default:
		for i, x := range next {
			partial[i] += x
		}
	}
}

// finish divides the sums of an average.
func (in *Input) finish(sums []float64) {
	if in.Op != collective.Avg {
		return
	}
	for i, x := range sums {
		if in.DType.Size == 8 {
			sums[i] = x / float64(in.World)
		} else {
			sums[i] = float64(float32(x) / float32(in.World))
		}
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

// sums makes the sums of all ranks' elements, from an index on, and how much a computed sum may differ from each.
func (g *generator) sums(sum, bound []float64, first int64) {
	// lost keeps what adding to sum rounds away, so that the reference is exact enough for doubles. Without
	// branches: Knuth, The Art of Computer Programming, volume 2, 4.2.2, theorem B.
	var lost, more [longestRun]float64
	next := more[:len(sum)]
	clear(sum)
	clear(bound)
	for rank := range g.in.World {
		g.fill(next, rank, first)
		for i, x := range next {
			t := sum[i] + x
			added := t - sum[i]
			lost[i] += (sum[i] - (t - added)) + (x - added)
			sum[i] = t
			bound[i] += math.Abs(x)
		}
	}
	relative := g.in.summing()
	for i := range sum {
		sum[i] += lost[i]
		bound[i] *= relative
	}
}

// roundedSum accepts a value near the sum, or near the average, of all ranks' numbers.
func (in Input) roundedSum() judge {
	near, g := in.near(), in.generator()
	return func(first int64, got, _ []uint64, v *Verdict) {
		var sums, bounds [longestRun]float64
		g.sums(sums[:len(got)], bounds[:len(got)], first)
		for i, bits := range got {
			want, bound := sums[i], bounds[i]
			if in.Op == collective.Avg {
				want /= float64(in.World)
				bound = bound/float64(in.World) + in.unit()*(math.Abs(want)+bound)
			}
			if nearest, ok := near(bits, want, bound); !ok {
				v.add(first+int64(i), nearest, bits)
			}
		}
	}
}

// roundedProduct accepts a value near the product of n numbers. The relative error of a product is
// at most γ(n-1). For doubles the reference, computed in fp64, has the same error in addition.
func (in Input) roundedProduct() judge {
	g := 2 * gamma(in.World-1, in.unit())
	near, number := in.near(), in.numbers()
	return each(func(i int64, got uint64) (uint64, bool) {
		product := 1.0
		for rank := range in.World {
			product *= number(rank, i)
		}
		return near(got, product, g*math.Abs(product))
	})
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
