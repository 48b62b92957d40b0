package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/stats"
)

// Case is what two results must have in common to be compared.
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
}

// caseOf is a result's case. What "auto" took is not part of it, and neither is its
// grid.
func caseOf(r result.Result, world int) Case {
	c := Case{
		Collective: r.Collective, Algorithm: Series(r), Blocks: r.Blocks, DType: r.DType, Op: r.Op, Root: r.Root,
		Epilogue: r.Epilogue, Bytes: r.Bytes, InPlace: r.InPlace, Mode: r.Mode, WorldSize: world,
	}
	if r.Asked != "" {
		c.Blocks = 0
	}
	return c
}

// Verdict says what became of a case.
type Verdict string

// The verdicts.
const (
	Slower  Verdict = "slower"
	Faster  Verdict = "faster"
	Noise   Verdict = "~"
	Unknown Verdict = "?" // a side has no samples
)

// Change is a case in two runs.
type Change struct {
	Case
	Old     Side    `json:"old"`
	New     Side    `json:"new"`
	Percent float64 `json:"change_percent"` // of the time: above zero is slower
	// P is that of no difference; nil: unknown.
	P       *float64 `json:"p"`
	Verdict Verdict  `json:"verdict"`
	// Failed is slower, beyond doubt, by more than the tolerance.
	Failed bool `json:"failed"`
}

// Side is a case in one run.
type Side struct {
	Median float64 `json:"median_us"`
	// Low and High are the interval of the median, with 95%; both are 0 where there
	// are too few samples for one.
	Low     float64 `json:"low_us"`
	High    float64 `json:"high_us"`
	Samples int     `json:"samples"`
}

// Comparison is what two runs have to say about each other.
type Comparison struct {
	Schema    int      `json:"schema"` // of this form: 1
	Tolerance float64  `json:"tolerance_percent"`
	Warnings  []string `json:"warnings"`
	Changes   []Change `json:"changes"`
	OnlyOld   []Case   `json:"only_old"`
	OnlyNew   []Case   `json:"only_new"`
	// Mean is the geometric mean of all changes, in percent.
	Mean   float64 `json:"mean_change_percent"`
	Failed int     `json:"failed"` // how many changes are
}

// ErrNothingInCommon is two runs without a common case.
var ErrNothingInCommon = errors.New("the runs have no case in common: the same collective, algorithm, type, operation, size, place, mode and number of ranks")

// Compare compares the times of two runs, case by case. A case fails that is slower by
// more than the tolerance, in percent, when chance alone would not make it so.
func Compare(before, after result.Report, tolerance float64) (Comparison, error) {
	c := Comparison{
		Schema: 1, Tolerance: tolerance, Warnings: warnings(before, after),
		Changes: []Change{}, OnlyOld: []Case{}, OnlyNew: []Case{},
	}
	sides := [2]runs{collect(before), collect(after)}
	var ratios []float64
	for _, name := range sides[0].order {
		if _, ok := sides[1].results[name]; !ok {
			c.OnlyOld = append(c.OnlyOld, name)
			continue
		}
		change := compareCase(name, sides[0].results[name], sides[1].results[name], tolerance)
		c.Changes = append(c.Changes, change)
		ratios = append(ratios, 1+change.Percent/100)
		if change.Failed {
			c.Failed++
		}
	}
	for _, name := range sides[1].order {
		if _, ok := sides[0].results[name]; !ok {
			c.OnlyNew = append(c.OnlyNew, name)
		}
	}
	for _, only := range [][]Case{c.OnlyOld, c.OnlyNew} { // sizes of an algorithm together
		slices.SortStableFunc(only, func(a, b Case) int {
			return cmp.Or(cmp.Compare(a.block(), b.block()), cmp.Compare(a.name(), b.name()), cmp.Compare(a.Bytes, b.Bytes))
		})
	}
	if len(c.Changes) == 0 {
		return c, ErrNothingInCommon
	}
	c.Mean = 100 * (stats.GeometricMean(ratios) - 1)
	return c, nil
}

// runs are a report's results by case. A sweep that runs in several cycles has
// several of each.
type runs struct {
	order   []Case
	results map[Case][]result.Result
}

// collect leaves out what is wrong, and what took no time: it was not timed.
func collect(r result.Report) runs {
	all := runs{results: map[Case][]result.Result{}}
	for _, x := range r.Results {
		if wrong := x.Wrong != nil && *x.Wrong > 0; wrong || !(x.Time.P50 > 0) {
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

func compareCase(name Case, before, after []result.Result, tolerance float64) Change {
	old, oldSamples := sideOf(before)
	fresh, newSamples := sideOf(after)
	c := Change{Case: name, Old: old, New: fresh, Percent: 100 * (fresh.Median/old.Median - 1), Verdict: Unknown}
	if len(oldSamples) == 0 || len(newSamples) == 0 {
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

// sideOf brings the results of a case together. Where one of them has no samples there
// are none, and the median is that of the medians.
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

// warnings say what makes two runs hard to compare.
func warnings(before, after result.Report) []string {
	all := []string{}
	differs := func(what, old, fresh string) {
		if old != fresh {
			all = append(all, fmt.Sprintf("the %s differ: %s, then %s", what, cmp.Or(old, "unknown"), cmp.Or(fresh, "unknown")))
		}
	}
	differs("devices", result.Machines(before.Devices), result.Machines(after.Devices))
	differs("drivers", drivers(before), drivers(after))
	for _, side := range []struct {
		which  string
		report result.Report
	}{{"old", before}, {"new", after}} {
		if !side.report.Passed {
			all = append(all, fmt.Sprintf("the %s run failed with exit code %d: what it measured may not be worth much", side.which, side.report.ExitCode))
		}
		if without := withoutSamples(side.report); without > 0 {
			all = append(all, fmt.Sprintf("%d results of the %s run have no samples: whether they differ by more than chance is unknown, and they never fail; "+
				"gpurun bench -J writes samples", without, side.which))
		}
	}
	return all
}

func withoutSamples(r result.Report) (n int) {
	for _, x := range r.Results {
		if len(x.Samples) == 0 {
			n++
		}
	}
	return n
}

// drivers are the versions of a run's devices.
func drivers(r result.Report) string {
	var versions []string
	for _, d := range r.Devices {
		if d.Driver != "" && !slices.Contains(versions, d.Driver) {
			versions = append(versions, d.Driver)
		}
	}
	slices.Sort(versions)
	return fmt.Sprint(versions)
}
