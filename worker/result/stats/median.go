// Package stats compares repeated measurements without assuming a distribution: by
// medians, their confidence intervals, outliers, and the Mann-Whitney U test, as
// benchstat and hyperfine do.
package stats

import (
	"math"
	"slices"
)

// Median is the middle of the samples, or the mean of the two in the middle. It is
// NaN where there are none.
func Median(samples []float64) float64 {
	return middle(slices.Sorted(slices.Values(samples)))
}

// middle is the median of sorted samples.
func middle(sorted []float64) float64 {
	n := len(sorted)
	switch {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

// Summary describes samples. The zero value describes none.
type Summary struct {
	N                int
	Min, Median, Max float64
	// Low and High are the confidence interval of the median, of at least 95%. Where there
	// are too few samples for one, Low is -Inf and High +Inf.
	Low, High float64
	Outliers  int // see Outliers
}

// Summarize describes samples, which it leaves as they are.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	s := Summary{
		N: len(sorted), Min: sorted[0], Median: middle(sorted), Max: sorted[len(sorted)-1],
		Low: math.Inf(-1), High: math.Inf(1), Outliers: Outliers(samples),
	}
	if rank := MedianRank(len(sorted), 0.95); rank > 0 {
		s.Low, s.High = sorted[rank-1], sorted[len(sorted)-rank]
	}
	return s
}

// Spread is the larger distance of the interval's ends from the median, divided by the
// median. It is +Inf where there is no interval.
func (s Summary) Spread() float64 {
	far := max(s.High-s.Median, s.Median-s.Low)
	if far == 0 {
		return 0
	}
	return far / s.Median
}

// MedianRank is the largest r such that the interval from the r-th smallest to the
// r-th largest of n samples holds the true median with at least that confidence. It is
// 0 where the interval from the smallest to the largest sample does not. The number of
// samples below the median is binomial, with a probability of one half: Conover,
// Practical Nonparametric Statistics, 3.2.
func MedianRank(n int, confidence float64) int {
	outside := (1 - confidence) / 2
	logHalves := -float64(n) * math.Ln2
	below := 0.0 // the probability that fewer than rank+1 samples are below
	rank := 0
	for ; 2*(rank+1) <= n; rank++ {
		below += math.Exp(logChoose(n, rank) + logHalves)
		if below > outside {
			break
		}
	}
	return rank
}

// logChoose is the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	logFactorial := func(x int) float64 {
		l, _ := math.Lgamma(float64(x) + 1)
		return l
	}
	return logFactorial(n) - logFactorial(k) - logFactorial(n-k)
}

// outlierDistance is the distance from the median, in standard deviations, beyond which
// a sample is an outlier. madScale times the median absolute deviation is the standard
// deviation where samples are normally distributed: 1/Φ⁻¹(3/4).
const (
	outlierDistance = 3
	madScale        = 1.482602218505602
)

// Outliers counts the samples that are further from the median than 3 times the
// scaled median absolute deviation. Where more than half of the samples are equal, that
// deviation is 0, and no sample counts as an outlier.
func Outliers(samples []float64) int {
	median := Median(samples)
	away := make([]float64, len(samples))
	for i, x := range samples {
		away[i] = math.Abs(x - median)
	}
	bound := outlierDistance * madScale * Median(away)
	if !(bound > 0) {
		return 0
	}
	n := 0
	for _, d := range away {
		if d > bound {
			n++
		}
	}
	return n
}

// GeometricMean is the geometric mean of ratios. It is NaN where there are none, or where
// one is not positive.
func GeometricMean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		if r <= 0 {
			return math.NaN()
		}
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}
