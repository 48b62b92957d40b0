package stats

import (
	"cmp"
	"math"
	"slices"
)

// Significance is the p below which a difference is significant. Any other difference is
// noise.
const Significance = 0.05

// Enough reports whether n and m samples can differ significantly at all. With 3 and 3
// samples they cannot: of 20 ways to choose 3 of 6, the 2 most extreme have p = 0.1.
func Enough(n, m int) bool {
	return n > 0 && m > 0 && math.Ln2-logChoose(n+m, n) < math.Log(Significance)
}

// exactSamples is the most samples, of both sides together, for which the exact
// distribution is counted. Above it the normal approximation is used.
const exactSamples = 60

// MannWhitney is the two-sided p of the U test of Mann and Whitney: how likely the
// ranks of x and y among all samples are to differ as much or more if both are
// samples of the same distribution. It is 1 where a side has no samples.
//
// With ties and sides of different sizes the distribution of U is not symmetric, so both
// tails are counted. go-moremath, which benchstat uses, doubles one tail: its p of
// {1} and {0, 0} is 4/3.
func MannWhitney(x, y []float64) float64 {
	if len(x) == 0 || len(y) == 0 {
		return 1
	}
	r := rankAll(x, y)
	if len(x)+len(y) <= exactSamples {
		return r.exact(len(x))
	}
	return r.normal(len(x), len(y))
}

// ranks are the ranks of two sides' samples among all samples. Tied samples share the mean
// of their ranks; all ranks are doubled, which makes them whole numbers.
type ranks struct {
	doubled []int // of all samples, ascending
	sum     int   // of the first side's
	ties    float64
}

// rankAll ranks the samples of both sides. ties is the sum of t³-t over the groups
// of t samples that are tied.
func rankAll(x, y []float64) (r ranks) {
	type sample struct {
		value float64
		first bool
	}
	var all []sample
	for _, v := range x {
		all = append(all, sample{v, true})
	}
	for _, v := range y {
		all = append(all, sample{v, false})
	}
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.value, b.value) })
	for begin := 0; begin < len(all); {
		end := begin + 1
		for end < len(all) && all[end].value == all[begin].value {
			end++
		}
		doubled := begin + 1 + end // the mean of the ranks begin+1 to end, twice
		for _, s := range all[begin:end] {
			r.doubled = append(r.doubled, doubled)
			if s.first {
				r.sum += doubled
			}
		}
		t := float64(end - begin)
		r.ties += t*t*t - t
		begin = end
	}
	return r
}

// exact is the share of all ways to choose n of the samples in which the sum of their
// ranks is at least as far from its mean as the first side's. Tied samples keep their
// shared ranks.
func (r ranks) exact(n int) float64 {
	most := 0
	for _, d := range r.doubled {
		most += d
	}
	// ways[k][s] is how many ways there are to choose k samples with the sum s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for _, d := range r.doubled {
		for k := n; k > 0; k-- { // downwards: a sample is chosen once
			for s := most; s >= d; s-- {
				ways[k][s] += ways[k-1][s-d]
			}
		}
	}
	mean := n * (len(r.doubled) + 1) // of doubled ranks
	distance := func(s int) int { return max(s-mean, mean-s) }
	extreme, all := 0.0, 0.0
	for s, w := range ways[n] {
		all += w
		if distance(s) >= distance(r.sum) {
			extreme += w
		}
	}
	return extreme / all
}

// normal is the normal approximation, corrected for ties and for continuity: Conover, 5.1.
func (r ranks) normal(n, m int) float64 {
	x, y := float64(n), float64(m)
	all := x + y
	u := float64(r.sum)/2 - x*(x+1)/2
	variance := x * y / 12 * (all + 1 - r.ties/(all*(all-1)))
	if variance <= 0 { // all samples are the same
		return 1
	}
	z := max(math.Abs(u-x*y/2)-0.5, 0) / math.Sqrt(variance)
	return math.Erfc(z / math.Sqrt2)
}
