package reference

import (
	"math"

	"gpurun/kernels/collective"
)

// Epilogue is an allreduce that sums floats and applies a collective.Epilogue to the sums before
// it stores them.
type Epilogue struct {
	In             Input
	Kind           collective.EpilogueKind
	Row            int64 // elements; the output begins with a row
	Scale, Epsilon float32
}

// The weights, or the bias, are generated as the input of rank World, which does not exist. The
// residual is generated as the input of rank World+1.
func (e Epilogue) weightRank() int   { return e.In.World }
func (e Epilogue) residualRank() int { return e.In.World + 1 }

// FillWeight writes the row of weights, or the bias, from element In.First on. It
// is the same on all ranks.
func (e Epilogue) FillWeight(dst []byte) { e.In.Fill(dst, e.weightRank()) }

// FillResidual writes the residual, from element In.First on. It is the same on
// all ranks.
func (e Epilogue) FillResidual(dst []byte) { e.In.Fill(dst, e.residualRank()) }

// Result compares elements of the output, from In.First on.
func (e Epilogue) Result(got []byte) Verdict {
	var right judge
	switch e.Kind {
	case collective.NoEpilogue:
		return e.In.Reduced(got)
	case collective.RMSNorm:
		right = e.normalized(got)
	default:
		right = e.elementwise()
		if e.In.Ordered {
			right = e.inOrder()
		}
	}
	return compare(got, e.In.DType.Size, e.In.First, right)
}

// ResidualOut compares elements of the sums with the residual added, from
// In.First on.
func (e Epilogue) ResidualOut(got []byte) Verdict {
	return compare(got, e.In.DType.Size, e.In.First, e.judge(e.residualSums()))
}

// value returns the function that gives element i without rounding, and the bound on the error of
// the computed element before it is stored.
type value func(i int64) (want, bound float64)

// judge compares elements with their values. Where the sums are exact and only one operation
// rounds, the value is exact in double precision, and rounding it once gives the expected bits.
func (e Epilogue) judge(v value) judge {
	near, c := e.In.near(), codecOf(e.In.DType)
	return each(func(i int64, got uint64) (uint64, bool) {
		want, bound := v(i)
		if e.In.Pattern == Exact {
			bits := c.encode(want)
			return bits, got == bits
		}
		return near(got, want, bound)
	})
}

// elementwise negates, scales, or adds the bias. Let B bound the error of a sum. The bound is then
// B for the negated sum, |scale|·B plus a rounding for the scaled one, and B plus a rounding for
// the sum with the bias.
func (e Epilogue) elementwise() judge {
	g := e.In.generator()
	return func(first int64, got, want []uint64, v *Verdict) {
		var sums, bounds [longestRun]float64
		g.sums(sums[:len(got)], bounds[:len(got)], first)
		e.judge(func(i int64) (float64, float64) {
			return e.applied(g, i, sums[i-first], bounds[i-first])
		})(first, got, want, v)
	}
}

// applied is what the operation makes of the sum of element i, and of its bound.
func (e Epilogue) applied(g *generator, i int64, sum, bound float64) (float64, float64) {
	switch e.Kind {
	case collective.Negate:
		return -sum, bound
	case collective.Scale:
		want, bound := sum*float64(e.Scale), bound*math.Abs(float64(e.Scale))
		return want, e.rounded(want, bound)
	default:
		want := sum + g.at(e.weightRank(), i%e.Row)
		return want, e.rounded(want, bound)
	}
}

// inOrder expects the bits that the operation gives on the sum in the order of the ranks, both in fp32.
func (e Epilogue) inOrder() judge {
	number, c := e.In.numbers(), codecOf(e.In.DType)
	return each(func(i int64, got uint64) (uint64, bool) {
		s := e.sum(number, i)
		switch e.Kind {
		case collective.Negate:
			s = -s
		case collective.Scale:
			s *= e.Scale
		default:
			s += float32(number(e.weightRank(), i%e.Row))
		}
		want := c.encode(float64(s))
		return want, got == want
	})
}

// sum is the sum of element i, in fp32 and in the order of the ranks.
func (e Epilogue) sum(number func(rank int, i int64) float64, i int64) (sum float32) {
	for rank := range e.In.World {
		sum += float32(number(rank, i))
	}
	return sum
}

// residualSums adds the residual to the sums of the allreduce. Every algorithm with this epilogue
// adds the ranks' numbers in fp32, in the order of ranks, and rounds the sum. The reference does
// the same: a bound would be useless, because many sums lie half way between two 16-bit numbers.
// The addition of the residual rounds once.
func (e Epilogue) residualSums() value {
	number, c := e.In.numbers(), codecOf(e.In.DType)
	return func(i int64) (float64, float64) {
		want := c.decode(c.encode(float64(e.sum(number, i)))) + number(e.residualRank(), i)
		return want, e.rounded(want, 0)
	}
}

// rounded returns the error bound of a value after one more rounding.
func (e Epilogue) rounded(want, bound float64) float64 {
	return bound + e.In.unit()*(math.Abs(want)+bound)
}
