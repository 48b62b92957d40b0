package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    float64
	}{
		{nil, math.NaN()},
		{[]float64{3}, 3},
		{[]float64{5, 1}, 3},
		{[]float64{9, 1, 4}, 4},
		{[]float64{1, 2, 3, 100}, 2.5},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
	} {
		if got := Median(c.samples); !near(got, c.want) {
			t.Errorf("%v: %v, want %v", c.samples, got, c.want)
		}
	}
}

// The ranks are those of published tables of the sign test's intervals, for 95%.
func TestMedianRankAgainstTables(t *testing.T) {
	for n, want := range map[int]int{
		0: 0, 1: 0, 5: 0, 6: 1, 7: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8, 30: 10, 40: 14, 50: 18, 100: 40,
	} {
		if got := MedianRank(n, 0.95); got != want {
			t.Errorf("of %d samples: rank %d, want %d", n, got, want)
		}
	}
	if got := MedianRank(5, 0.90); got != 1 { // 93.75% is enough
		t.Errorf("90%% of 5 samples: rank %d", got)
	}
	if got := MedianRank(2, 0.5); got != 1 { // both of them
		t.Errorf("50%% of 2 samples: rank %d", got)
	}
}

func TestSummarize(t *testing.T) {
	got := Summarize([]float64{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 100})
	want := Summary{N: 15, Min: 2, Median: 9, Max: 100, Low: 5, High: 13, Outliers: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Spread() != 4.0/9 {
		t.Errorf("spread %v", got.Spread())
	}
	if few := Summarize([]float64{1, 2, 3, 4, 5}); !math.IsInf(few.High, 1) || !math.IsInf(few.Low, -1) ||
		!math.IsInf(few.Spread(), 1) {
		t.Errorf("five samples have an interval: %+v", few)
	}
	if same := Summarize([]float64{4, 4, 4, 4, 4, 4}); same.Spread() != 0 || same.Outliers != 0 {
		t.Errorf("%+v", same)
	}
	if none := Summarize(nil); none != (Summary{}) {
		t.Errorf("%+v", none)
	}
}

func TestOutliers(t *testing.T) {
	for _, c := range []struct {
		samples []float64
		want    int
	}{
		{nil, 0},
		{[]float64{1, 1, 1, 1, 50}, 0}, // no deviation to measure by
		{[]float64{9, 10, 11, 10.5, 9.5, 30, 1}, 2},
		{[]float64{9, 10, 11, 10.5, 9.5}, 0},
		// The deviation is 1: the bound is 3 * 1.4826 = 4.4478 from 10.
		{[]float64{9, 10, 11, 14.44}, 0},
		{[]float64{9, 9, 10, 11, 11, 14.45}, 0}, // the median is 10.5, and 14.45 is 3.95 from it
		{[]float64{8, 9, 9, 10, 11, 11, 14.45}, 1},
	} {
		if got := Outliers(c.samples); got != c.want {
			t.Errorf("%v: %d, want %d", c.samples, got, c.want)
		}
	}
}

func TestGeometricMean(t *testing.T) {
	for _, c := range []struct {
		ratios []float64
		want   float64
	}{
		{nil, math.NaN()}, {[]float64{2, 8}, 4}, {[]float64{1, 0}, math.NaN()}, {[]float64{0.5, 2}, 1},
	} {
		if got := GeometricMean(c.ratios); !near(got, c.want) {
			t.Errorf("%v: %v, want %v", c.ratios, got, c.want)
		}
	}
}

// The probabilities are those of the tables of U: the number of ways to get it or
// less, twice, over all ways.
func TestMannWhitneyAgainstTables(t *testing.T) {
	apart := func(n, m int) (x, y []float64) {
		for i := range n + m {
			if i < n {
				x = append(x, float64(i))
			} else {
				y = append(y, float64(i))
			}
		}
		return x, y
	}
	for _, c := range []struct {
		name string
		x, y []float64
		want float64
	}{
		{"U=0 of 3 and 3", []float64{1, 2, 3}, []float64{4, 5, 6}, 2.0 / 20},
		{"U=0 of 5 and 5", []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252},
		{"U=1 of 5 and 5", []float64{1, 2, 3, 4, 6}, []float64{5, 7, 8, 9, 10}, 4.0 / 252},
		{"U=2 of 5 and 5", []float64{1, 2, 3, 5, 6}, []float64{4, 7, 8, 9, 10}, 8.0 / 252},
		{"U=4 of 4 and 4", []float64{1, 2, 5, 6}, []float64{3, 4, 7, 8}, 24.0 / 70},
		{"U=2 of 3 and 5", []float64{2, 1, 5}, []float64{3, 4, 6, 7, 8}, 8.0 / 56},
		{"tied", []float64{1, 1, 2}, []float64{2, 3, 3}, 4.0 / 20},
		{"tied, of 1 and 2", []float64{1}, []float64{0, 0}, 1.0 / 3},
		{"all the same", []float64{4, 4, 4}, []float64{4, 4, 4}, 1},
		{"nothing", nil, []float64{1}, 1},
	} {
		if got := MannWhitney(c.x, c.y); !near(got, c.want) {
			t.Errorf("%s: p %v, want %v", c.name, got, c.want)
		}
		if got := MannWhitney(c.y, c.x); !near(got, c.want) {
			t.Errorf("%s, the other way: p %v, want %v", c.name, got, c.want)
		}
	}
	x, y := apart(15, 15)
	if got, want := MannWhitney(x, y), 2/155117520.0; !near(got, want) {
		t.Errorf("U=0 of 15 and 15: %v, want %v", got, want)
	}
}

// With the fewest samples that are enough, the most extreme are significant.
func TestEnough(t *testing.T) {
	for n := range 9 {
		for m := range 9 {
			var x, y []float64
			for i := range n {
				x = append(x, float64(i))
			}
			for i := range m {
				y = append(y, float64(100+i))
			}
			if got, want := Enough(n, m), MannWhitney(x, y) < Significance; got != want {
				t.Errorf("%d and %d samples: %v", n, m, got)
			}
		}
	}
}

// For sizes that allow both, the normal approximation is near the exact probability.
func TestNormalIsNearExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64Range(0, 1)
		x := rapid.SliceOfN(value, 25, 30).Draw(t, "x")
		y := rapid.SliceOfN(value, 25, 30).Draw(t, "y")
		r := rankAll(x, y)
		exact, normal := r.exact(len(x)), r.normal(len(x), len(y))
		if math.Abs(exact-normal) > 0.01 {
			t.Errorf("exact %v, normal %v", exact, normal)
		}
	})
}

func TestMannWhitneyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few values, so that there are ties.
		value := rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 20).Draw(t, "value")) })
		x := rapid.SliceOfN(value, 1, 40).Draw(t, "x")
		y := rapid.SliceOfN(value, 1, 40).Draw(t, "y")
		p := MannWhitney(x, y)
		if !(p > 0 && p <= 1+1e-9) {
			t.Fatalf("p %v", p)
		}
		if q := MannWhitney(y, x); !near(p, q) {
			t.Errorf("p %v, and %v the other way", p, q)
		}
		if q := MannWhitney(doubled(x), doubled(y)); !near(p, q) {
			t.Errorf("p %v, and %v of all samples doubled", p, q)
		}
		if q := MannWhitney(x, x); q < 0.99 {
			t.Errorf("p %v of the same samples", q)
		}
	})
}

func doubled(samples []float64) []float64 {
	all := slices.Clone(samples)
	for i := range all {
		all[i] *= 2
	}
	return all
}

func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Float64Range(0.001, 1e9), 1, 60).Draw(t, "samples")
		before := slices.Clone(samples)
		s := Summarize(samples)
		if !slices.Equal(samples, before) {
			t.Fatal("the samples were changed")
		}
		if !(s.Min <= s.Median && s.Median <= s.Max && s.Low <= s.Median && s.Median <= s.High && s.Spread() >= 0) {
			t.Errorf("%+v", s)
		}
		if s.N >= 6 && (s.Low < s.Min || s.High > s.Max) {
			t.Errorf("the interval goes beyond the samples: %+v", s)
		}
		if 2*s.Outliers > s.N {
			t.Errorf("%d of %d are outliers", s.Outliers, s.N)
		}
	})
}
