package reference

import "math"

// squareRoundings is the most roundings that a square goes through on its way to
// the sum of a row: threads add 32 of them or fewer, and the partial sums of up to
// 512 threads are added in few steps.
const squareRoundings = 64

// factor is 1/sqrt(mean(x²)+epsilon) of a row, and the bound on the relative error of the computed
// factor.
type factor struct{ want, relative float64 }

// normalized expects x·factor·weight. x is a sum with the residual added, with an error of up to
// B. The error of the factor f is up to r·f. Two multiplications round. The error of the product
// is therefore up to f·((|x|+B)·(1+r)·(1+γ(2)) - |x|), times the weight.
func (e Epilogue) normalized(got []byte) judge {
	first := e.In.First / e.Row
	factors := e.factors(first, e.In.First+int64(len(got)/e.In.DType.Size))
	x, number, near := e.residualSums(), e.In.numbers(), e.In.near()
	two := 1 + gamma(2, e.In.unit())
	return each(func(i int64, got uint64) (uint64, bool) {
		x, bound := x(i)
		f, weight := factors[i/e.Row-first], number(e.weightRank(), i%e.Row)
		bound = f.want * math.Abs(weight) * ((math.Abs(x)+bound)*(1+f.relative)*two - math.Abs(x))
		return near(got, x*f.want*weight, bound)
	})
}

// factors are those of the rows from the first on that begin before element end.
func (e Epilogue) factors(first, end int64) []factor {
	x := e.residualSums()
	factors := make([]factor, (end+e.Row-1)/e.Row-first)
	inParallel(int64(len(factors))*e.Row, e.Row, func(begin, end int64) {
		for row := begin / e.Row; row < end/e.Row; row++ {
			factors[row] = e.factor(x, first+row)
		}
	})
	return factors
}

// factor bounds its own error in steps:
//   - The error of x is up to B, so that of x² is up to 2|x|B + B². Let D be the sum of these.
//   - The error of the sum S of the squares is up to D + γ(k)·(S+D), for k roundings per square.
//   - The mean and the addition of epsilon round once each. Let E bound the error of the result t,
//     and ρ = E/t.
//   - The relative error of 1/sqrt(t) is up to 1/sqrt(1-ρ) - 1. The root and the division round
//     once each.
func (e Epilogue) factor(x value, row int64) factor {
	var sum, off float64
	for i := row * e.Row; i < (row+1)*e.Row; i++ {
		want, bound := x(i)
		sum += want * want
		off += 2*math.Abs(want)*bound + bound*bound
	}
	unit, n := e.In.unit(), float64(e.Row)
	off += gamma(squareRoundings, unit) * (sum + off)
	t := sum/n + float64(e.Epsilon)
	off = off/n + gamma(2, unit)*(t+off/n)
	two := gamma(2, unit)
	return factor{
		want:     1 / math.Sqrt(t),
		relative: (1/math.Sqrt(1-off/t)-1)*(1+two) + two,
	}
}
