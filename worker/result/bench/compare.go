package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/result/stats"
)

// Case identifies the results of two runs that are compared with each other.
type Case struct {
	Collective string `json:"collective"`
	Algorithm  string `json:"algorithm"` // as asked for: it may be "auto"
	Blocks     int    `json:"blocks,omitempty"`
	DType      string `json:"dtype"`
	Op         string `json:"op"`
	Root       int    `json:"root"`
	Epilogue   string `json:"epilogue,omitempty"`
	Bytes      int64  `json:"bytes"`
	InPlace    bool   `json:"in_place"`
	Mode       string `json:"mode"`
	WorldSize  int    `json:"world_size"`
	// Product and Splits are those of a product of matrices; empty for a collective.
	Product string `json:"product,omitempty"`
	Splits  int    `json:"splits_per_rank,omitempty"`
}

// caseOf is a result's case. The algorithm and the grid that "auto" chose are not part
// of the case.
func caseOf(r result.Result, world int) Case {
	c := Case{
		Collective: r.Collective, Algorithm: Series(r), Blocks: r.Blocks, DType: r.DType, Op: r.Op, Root: r.Root,
		Epilogue: r.Epilogue, Bytes: r.Bytes, InPlace: r.InPlace, Mode: r.Mode, WorldSize: world,
	}
	if r.Asked != "" {
		c.Blocks = 0
	}
	if p := r.Product; p != nil {
		c.Product, c.Splits = p.String(), p.Splits
	}
	return c
}

// Verdict says how a case changed.
type Verdict string

// The verdicts.
const (
	Slower  Verdict = "slower"
	Faster  Verdict = "faster"
	Noise   Verdict = "~"
	Unknown Verdict = "?" // there are too few samples
)

// Change is a case in two runs.
type Change struct {
	Case
	Old     Side    `json:"old"`
	New     Side    `json:"new"`
	Percent float64 `json:"change_percent"` // of the time; a positive change is slower
	// P is the p-value that there is no difference; nil: unknown.
	P       *float64 `json:"p"`
	Verdict Verdict  `json:"verdict"`
	// Failed marks a case that is significantly slower, by more than the tolerance.
	Failed bool `json:"failed"`
}

// Side is a case in one run.
type Side struct {
	Median float64 `json:"median_us"`
	// Low and High are the 95% confidence interval of the median; both are 0 where there
	// are too few samples for one.
	Low     float64 `json:"low_us"`
	High    float64 `json:"high_us"`
	Samples int     `json:"samples"`
}

// Comparison compares the cases of two runs.
type Comparison struct {
	Schema    int      `json:"schema"` // of this JSON document: 1
	Tolerance float64  `json:"tolerance_percent"`
	Warnings  []string `json:"warnings"`
	Changes   []Change `json:"changes"`
	OnlyOld   []Case   `json:"only_old"`
	OnlyNew   []Case   `json:"only_new"`
	// Mean is the geometric mean of all changes, in percent.
	Mean   float64 `json:"mean_change_percent"`
	Failed int     `json:"failed"` // number of changes that failed
	// WantAll makes a failure of a case that only the old run has.
	WantAll bool `json:"want_all"`
}

// Failures returns the reasons why the comparison failed; empty: it passed.
func (c Comparison) Failures() (all []string) {
	if c.Failed > 0 {
		all = append(all, fmt.Sprintf("%d of %d cases are slower by more than %g%%", c.Failed, len(c.Changes), c.Tolerance))
	}
	if missing := len(c.OnlyOld); c.WantAll && missing > 0 {
		all = append(all, fmt.Sprintf("%d of %d cases of the old run are not in the new one", missing,
			missing+len(c.Changes)))
	}
	return all
}

// ErrNothingInCommon says that the two runs have no case in common.
var ErrNothingInCommon = errors.New("the runs have no case in common: the same collective, algorithm, type, " +
	"operation, size, place, mode and number of ranks")

// Compare compares the times of two runs, case by case. A case fails if it is
// significantly slower, by more than the tolerance, in percent. Results with wrong data,
// and those that were not timed, are left out.
func Compare(before, after result.Report, tolerance float64) (Comparison, error) {
	old, fresh := collect(before), collect(after)
	c := Comparison{
		Schema: 1, Tolerance: tolerance, Warnings: warnings(before, after), Changes: []Change{},
		OnlyOld: old.without(fresh), OnlyNew: fresh.without(old),
	}
	unknown := 0
	var ratios []float64
	for _, name := range old.order {
		if fresh.results[name] == nil {
			continue
		}
		change := compareCase(name, old.results[name], fresh.results[name], tolerance)
		c.Changes = append(c.Changes, change)
		ratios = append(ratios, 1+change.Percent/100)
		switch {
		case change.Failed:
			c.Failed++
		case change.Verdict == Unknown:
			unknown++
		}
	}
	if len(c.Changes) == 0 {
		return c, ErrNothingInCommon
	}
	if unknown > 0 {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%d of %d cases have no samples, or too few for a significant change, and never fail: "+
				"gpurun bench -J writes samples, --rounds 15 enough of them", unknown, len(c.Changes)))
	}
	c.Mean = 100 * (stats.GeometricMean(ratios) - 1)
	return c, nil
}

// runs are a report's results by case. A sweep in several cycles has several results of
// each case.
type runs struct {
	order   []Case
	results map[Case][]result.Result
}

// without lists the cases that other lacks, sorted so that the sizes of an algorithm are
// together.
func (r runs) without(other runs) []Case {
	only := []Case{}
	for _, name := range r.order {
		if other.results[name] == nil {
			only = append(only, name)
		}
	}
	slices.SortStableFunc(only, func(a, b Case) int {
		return cmp.Or(cmp.Compare(a.sweepName(), b.sweepName()), cmp.Compare(a.name(), b.name()),
			cmp.Compare(a.Bytes, b.Bytes))
	})
	return only
}

// collect groups results by case, without those that are wrong or were not timed.
func collect(r result.Report) runs {
	all := runs{results: map[Case][]result.Result{}}
	for _, x := range r.Results {
		if wrong := x.Wrong != nil && *x.Wrong > 0; wrong || !timed(x) {
			continue
		}
		name := caseOf(x, r.WorldSize)
		if all.results[name] == nil {
			all.order = append(all.order, name)
		}
		all.results[name] = append(all.results[name], x)
	}
	return all
}

// timed reports whether a result has plausible times: from a picosecond to eleven
// days. Reports are read from files that other programs may have written.
func timed(r result.Result) bool {
	const least, most = 1e-6, 1e12 // us
	return !slices.ContainsFunc(append([]float64{r.Time.P50}, r.Samples...),
		func(us float64) bool { return !(us >= least && us <= most) })
}

func compareCase(name Case, before, after []result.Result, tolerance float64) Change {
	old, oldSamples := sideOf(before)
	fresh, newSamples := sideOf(after)
	c := Change{Case: name, Old: old, New: fresh, Percent: 100 * (fresh.Median/old.Median - 1), Verdict: Unknown}
	if !stats.Enough(len(oldSamples), len(newSamples)) {
		return c
	}
	p := stats.MannWhitney(oldSamples, newSamples)
	c.P = &p
	switch {
	case p >= stats.Significance || c.Percent == 0:
		c.Verdict = Noise
	case c.Percent < 0:
		c.Verdict = Faster
	default:
		c.Verdict = Slower
		c.Failed = c.Percent > tolerance
	}
	return c
}

// sideOf combines the results of a case. If one of them has no samples, the side has
// none, and its median is that of the results' medians.
func sideOf(results []result.Result) (Side, []float64) {
	var samples, medians []float64
	for _, r := range results {
		samples = append(samples, r.Samples...)
		medians = append(medians, r.Time.P50)
	}
	if slices.ContainsFunc(results, func(r result.Result) bool { return len(r.Samples) == 0 }) {
		return Side{Median: stats.Median(medians)}, nil
	}
	s := stats.Summarize(samples)
	side := Side{Median: s.Median, Samples: s.N}
	if stats.MedianRank(s.N, 0.95) > 0 {
		side.Low, side.High = s.Low, s.High
	}
	return side, samples
}
