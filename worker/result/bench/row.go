// Package bench compares measurements: the algorithms of one run, and the same cases of
// two runs. A difference that is not significant is marked as noise, and never fails.
package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/result/stats"
)

// Series is the algorithm that the user asked for, under which results are compared.
func Series(r result.Result) string { return cmp.Or(r.Asked, r.Algorithm) }

// label is the series, and for "auto" also the algorithm that it chose.
func label(r result.Result) string {
	if r.Product != nil {
		return r.Product.Label(r)
	}
	if r.Asked == "" {
		return r.Algorithm
	}
	return fmt.Sprintf("%s (%s)", r.Asked, r.Algorithm)
}

// sweepName names what results have in common that differ only in size and algorithm.
func sweepName(r result.Result) string {
	words := r.Collective
	for _, word := range []string{r.DType, r.Op, r.Epilogue} {
		if word != result.None && word != "" {
			words += " " + word
		}
	}
	switch {
	case r.Product != nil:
		words += ", " + r.Product.String()
	case r.DType == result.None:
	case r.InPlace:
		words += ", in place"
	default:
		words += ", out of place"
	}
	return words
}

// CallName names what results have in common that differ only in algorithm.
func CallName(r result.Result) string { return fmt.Sprintf("%s, %d bytes", sweepName(r), r.Bytes) }

// row is a result that is compared with others of the same call.
type row struct {
	result.Result
	stats.Summary
	base         bool
	ratio        float64 // the base's median over this one's; 0: there is no base, or one is wrong
	p            float64 // that there is no difference from the base
	inconclusive bool    // too few samples for any difference to be significant
	linkShare    float64 // bus bandwidth divided by the links' ceiling; 0: unknown
}

// rows compares the results of one call. Ratios are relative to the series against;
// ceiling is in GB/s, or 0.
func rows(results []result.Result, against string, ceiling float64) []row {
	isBase := func(r result.Result) bool { return Series(r) == against }
	base := slices.IndexFunc(results, isBase)
	var all []row
	for i, r := range results {
		line := row{Result: r, Summary: stats.Summarize(r.Samples), base: i == base}
		if base >= 0 && line.Median > 0 && !r.IsWrong() && !results[base].IsWrong() {
			line.ratio = stats.Median(results[base].Samples) / line.Median
			line.inconclusive = !stats.Enough(len(results[base].Samples), line.N)
			line.p = stats.MannWhitney(results[base].Samples, r.Samples)
		}
		if ceiling > 0 {
			line.linkShare = r.BusBW / ceiling
		}
		all = append(all, line)
	}
	return all
}

// versus reads "1.23x", with a tilde where the difference is not significant, and with a
// question mark where there are too few samples.
func (r row) versus() string {
	switch {
	case r.base:
		return "base"
	case r.ratio == 0:
		return "-"
	case r.inconclusive:
		return fmt.Sprintf("? %.2fx", r.ratio)
	case r.p >= stats.Significance:
		return fmt.Sprintf("~ %.2fx", r.ratio)
	}
	return fmt.Sprintf("%.2fx", r.ratio)
}

// spread is how far the interval reaches, in percent.
func (r row) spread() string { return percentOf(r.Spread()) }

func percentOf(spread float64) string {
	if math.IsInf(spread, 1) {
		return "∞" // too few samples
	}
	return fmt.Sprintf("%.1f%%", 100*spread)
}

// verdict says how many elements are wrong, or that none was verified; else it is empty.
func (r row) verdict() string {
	switch {
	case r.Wrong == nil:
		return "not verified"
	case *r.Wrong > 0:
		return fmt.Sprintf("%d WRONG", *r.Wrong)
	}
	return ""
}
