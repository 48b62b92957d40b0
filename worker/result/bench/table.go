package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gpurun/worker/result"
	"gpurun/worker/result/stats"
)

// Options describes the measurement, which the table names, and the table's format.
type Options struct {
	Against    string // the series that ratios are relative to
	Passes     int    // samples of each algorithm
	Iterations int    // calls in a sample
	Graph      bool   // the calls are replayed from a graph
	Markdown   bool
	Products   bool // the results are of products of matrices
	Width      int  // the most characters in a line, for a terminal; 0: any number
}

// NewTable makes the renderer of "gpurun bench": a line for each algorithm, with the
// algorithms of a size together. It is a [result.CeilingRenderer].
func NewTable(w io.Writer, o Options) result.CeilingRenderer {
	t := &table{w: w, o: o, columns: columns(o.Against, !o.Graph)}
	if o.Products {
		t.columns = productColumns(o.Against, !o.Graph)
	}
	if !o.Markdown {
		t.columns = fit(t.columns, o.Width)
	}
	return t
}

type table struct {
	w       io.Writer
	o       Options
	columns []column
	ceiling *result.Ceiling
	sweep   string          // of the row before
	pending []result.Result // of one call
	shown   []row
}

func (t *table) Begin(r result.Report) error {
	return t.say("%s; %s of %s each, %s", result.Machines(r.Devices), result.Count(t.o.Passes, "sample"),
		result.Count(t.o.Iterations, "call"), t.mode())
}

func (t *table) mode() string {
	if t.o.Graph {
		return "replayed from a graph"
	}
	return "launched one by one"
}

// Ceiling prints the links' bandwidth, or why it was not measured.
func (t *table) Ceiling(c result.Ceiling) error {
	t.ceiling = &c
	if c.Skipped != "" {
		return t.say("link ceiling: not measured: %s", c.Skipped)
	}
	return t.say("link ceiling: %.2f GB/s out of a GPU, %s each; %s", c.Rate(), result.FormatSize(c.Bytes), c.Method)
}

// Add keeps results until those of all algorithms for a call are there: the base of the
// ratios may come last.
func (t *table) Add(r result.Result) error {
	if n := len(t.pending); n > 0 && !sameCall(t.pending[n-1], r) {
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.pending = append(t.pending, r)
	return nil
}

func sameCall(a, b result.Result) bool { return sweepName(a) == sweepName(b) && a.Bytes == b.Bytes }

// flush prints the results of a call.
func (t *table) flush() error {
	if len(t.pending) == 0 {
		return nil
	}
	var b strings.Builder
	name := sweepName(t.pending[0])
	if name != t.sweep {
		t.sweep = name
		b.WriteString(t.heading(name))
	} else if !t.o.Markdown {
		b.WriteString("\n")
	}
	for _, r := range rows(t.pending, t.o.Against, t.ceiling.Rate()) {
		words := cells(t.columns, r)
		if t.o.Markdown {
			b.WriteString(markdownLine(words) + "\n")
		} else {
			b.WriteString(align(t.columns, words) + "\n")
		}
		t.shown = append(t.shown, r)
	}
	t.pending = nil
	_, err := io.WriteString(t.w, b.String())
	return err
}

// heading begins the rows of a sweep.
func (t *table) heading(name string) string {
	if t.o.Markdown {
		return fmt.Sprintf("\n### %s\n\n%s\n%s\n", name, markdownLine(titles(t.columns)), markdownRule(t.columns))
	}
	line := align(t.columns, titles(t.columns))
	return fmt.Sprintf("#\n# %s\n#%s\n", name, strings.TrimPrefix(line, " "))
}

// End prints the conclusions.
func (t *table) End(r result.Report) error {
	if err := t.flush(); err != nil {
		return err
	}
	if !t.o.Markdown {
		if _, err := io.WriteString(t.w, "#\n"); err != nil {
			return err
		}
	}
	for _, sentence := range t.conclusions(r) {
		if err := t.say("%s", sentence); err != nil {
			return err
		}
	}
	return nil
}

// say prints a sentence: a comment in a table, a paragraph in markdown.
func (t *table) say(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if t.o.Markdown {
		text = "\n" + text
	} else {
		text = "# " + text
	}
	_, err := fmt.Fprintln(t.w, text)
	return err
}

func (t *table) conclusions(r result.Report) []string {
	all := t.means()
	outliers, samples, few, inconclusive := 0, 0, false, false
	for _, line := range t.shown {
		outliers += line.Outliers
		samples += line.N
		few = few || stats.MedianRank(line.N, 0.95) == 0
		inconclusive = inconclusive || line.inconclusive
	}
	if len(t.shown) > 0 {
		all = append(all, fmt.Sprintf("± 95%% is the confidence interval of the median; "+
			"~ is noise: the difference from %s is not significant (p >= %.2f)",
			t.o.Against, stats.Significance))
	}
	if few {
		all = append(all, "∞: fewer than 6 rounds give no 95% interval; --rounds 15 does")
	}
	if inconclusive {
		all = append(all, "?: so few rounds cannot show a significant difference; --rounds 15 can")
	}
	if outliers > 0 {
		all = append(all, fmt.Sprintf("statistical outliers: %d of %d samples are far from their median; "+
			"an idle machine gives better numbers", outliers, samples))
	}
	if r.Gate != nil {
		all = append(all, fmt.Sprintf("thresholds: %s", r.Gate))
	}
	return append(all, verdict(r))
}

// verdict is the sentence about wrong, missing and unverified results.
func verdict(r result.Report) string {
	wrong, unverified := 0, 0
	for _, x := range r.Results {
		switch {
		case x.Wrong == nil:
			unverified++
		case *x.Wrong > 0:
			wrong++
		}
	}
	switch {
	case wrong > 0:
		return fmt.Sprintf("WRONG DATA in %d of %d results", wrong, len(r.Results))
	case !r.Passed && !r.Gate.Failed():
		return fmt.Sprintf("the run ended early: exit code %d", r.ExitCode)
	case unverified > 0:
		return fmt.Sprintf("%d of %d results were not verified", unverified, len(r.Results))
	}
	return fmt.Sprintf("all %d results verified before timing and after", len(r.Results))
}

// means say how many times faster than the base each series is, as the geometric mean
// over all calls.
func (t *table) means() []string {
	var names, all []string
	ratios := map[string][]float64{}
	for _, r := range t.shown {
		if name := Series(r.Result); r.ratio > 0 && name != t.o.Against {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			ratios[name] = append(ratios[name], r.ratio)
		}
	}
	for _, name := range names {
		all = append(all, fmt.Sprintf("%s %.2fx", name, stats.GeometricMean(ratios[name])))
	}
	if len(all) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("geometric mean vs %s: %s", t.o.Against, strings.Join(all, ", "))}
}
