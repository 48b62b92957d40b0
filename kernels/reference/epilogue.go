package reference

import (
	"math"

	"gpurun/kernels/collective"
)

// Epilogue is an allreduce that sums floats and does something to the sums
// before it stores them: collective.Epilogue says what.
type Epilogue struct {
	In             Input
	Kind           collective.EpilogueKind
	Row            int64 // elements; the output begins with a row
	Scale, Epsilon float32
}

// The row of weights, or the bias, is what a rank beyond the last would have as
// its input, and the residual the input of the one behind that.
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
		right = e.normalised(got)
	default:
		right = e.elementwise()
	}
	return compare(got, e.In.DType.Size, e.In.First, right)
}

// ResidualOut compares elements of the sums with the residual added, from
// In.First on.
func (e Epilogue) ResidualOut(got []byte) Verdict {
	return compare(got, e.In.DType.Size, e.In.First, e.judge(e.residualSums()))
}

// value is the function that gives what element i would be without rounding,
// and how much the computed one may differ before it is stored.
type value func(i int64) (want, bound float64)

// judge wants values. Where the sums are exact and only one operation rounds,
// the value is exact in double precision, and rounding it once gives the bits.
func (e Epilogue) judge(v value) judge {
	near, c := e.In.near(), codecOf(e.In.DType)
	return func(i int64, got uint64) (uint64, bool) {
		want, bound := v(i)
		if e.In.Pattern == Exact {
			bits := c.encode(want)
			return bits, got == bits
		}
		return near(got, want, bound)
	}
}

// elementwise negates, scales, or adds the bias. A sum s, off by up to B, is off
// by B when negated, by |scale|·B and a rounding when scaled, and by B and a
// rounding when the bias is added.
func (e Epilogue) elementwise() judge {
	sum, number := e.In.sums(), e.In.numbers()
	return e.judge(func(i int64) (float64, float64) {
		s, bound := sum(i)
		switch e.Kind {
		case collective.Negate:
			return -s, bound
		case collective.Scale:
			want, bound := s*float64(e.Scale), bound*math.Abs(float64(e.Scale))
			return want, e.rounded(want, bound)
		default:
			want := s + number(e.weightRank(), i%e.Row)
			return want, e.rounded(want, bound)
		}
	})
}

// residualSums adds the residual to what an allreduce stores: the ranks' numbers, added in fp32 in
// the order of ranks, which no algorithm with this epilogue does otherwise, and rounded. Of such a sum a
// bound would not do: many lie half way between two numbers of 16 bits. The addition rounds once.
func (e Epilogue) residualSums() value {
	number, c := e.In.numbers(), codecOf(e.In.DType)
	return func(i int64) (float64, float64) {
		var sum float32
		for rank := range e.In.World {
			sum += float32(number(rank, i))
		}
		want := c.decode(c.encode(float64(sum))) + number(e.residualRank(), i)
		return want, e.rounded(want, 0)
	}
}

// rounded is the bound on a value that a rounding is done to, once it is done.
func (e Epilogue) rounded(want, bound float64) float64 {
	return bound + e.In.unit()*(math.Abs(want)+bound)
}
