package webpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gpurun/worker/result"
	"gpurun/worker/result/bench"
	"gpurun/worker/result/stats"
)

// results are the tables of a report, one for each collective.
func results(r result.Report) Section {
	s := Section{Title: "Results"}
	var names []string
	byName := map[string][]result.Result{}
	for _, x := range r.Results {
		if byName[x.Collective] == nil {
			names = append(names, x.Collective)
		}
		byName[x.Collective] = append(byName[x.Collective], x)
	}
	for _, name := range names {
		s.Tables = append(s.Tables, table(name, byName[name], r.Ceiling.Rate()))
	}
	return s
}

// resultColumn is a column of a table of results.
type resultColumn struct {
	Column
	cell func(x result.Result) Cell
}

// table is that of a collective's results. Columns in which no row has anything are left out.
func table(name string, results []result.Result, ceiling float64) Table {
	base := bases(results)
	all := append(callColumns(), timeColumns(base, ceiling)...)
	all = slices.DeleteFunc(all, func(c resultColumn) bool {
		return !slices.ContainsFunc(results, func(x result.Result) bool { return c.cell(x) != Cell{} })
	})
	t := Table{Caption: name}
	all = slices.DeleteFunc(all, func(c resultColumn) bool {
		same := common(results, c)
		if same != "" {
			t.Caption += ", " + same
		}
		return same != ""
	})
	for _, c := range all {
		t.Columns = append(t.Columns, c.Column)
	}
	for _, x := range results {
		var row []Cell
		for _, c := range all {
			row = append(row, c.cell(x))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// common is the text that all of several results have in a column which describes the call; else it is empty.
func common(results []result.Result, c resultColumn) string {
	first := c.cell(results[0])
	if c.Numeric || len(results) == 1 ||
		slices.ContainsFunc(results, func(x result.Result) bool { return c.cell(x) != first }) {
		return ""
	}
	return first.Text
}

// callColumns say which call it was.
func callColumns() []resultColumn {
	text := func(title string, value func(x result.Result) string) resultColumn {
		return resultColumn{Column{Title: title}, func(x result.Result) Cell { return Cell{Text: value(x)} }}
	}
	some := func(word string) string {
		if word == result.None {
			return ""
		}
		return word
	}
	return []resultColumn{
		{Column{"size", true}, func(x result.Result) Cell {
			if x.Product != nil || x.Bytes == 0 {
				return Cell{}
			}
			return Cell{Text: result.FormatSize(x.Bytes), Number: float64(x.Bytes)}
		}},
		{Column{"M x N x K", true}, func(x result.Result) Cell {
			if x.Product == nil {
				return Cell{}
			}
			return Cell{Text: x.Product.String(), Number: float64(x.Product.M) * float64(x.Product.N) * float64(x.Product.K)}
		}},
		text("algorithm", label),
		text("type", func(x result.Result) string { return some(x.DType) }),
		text("operation", func(x result.Result) string { return words(some(x.Op), x.Epilogue) }),
		text("place", place),
		text("mode", func(x result.Result) string { return x.Mode }),
	}
}

// label names the algorithm, and what the user asked for if that was auto.
func label(x result.Result) string {
	switch {
	case x.Product != nil:
		return x.Product.Label(x)
	case x.Asked != "":
		return fmt.Sprintf("%s (%s)", x.Asked, x.Algorithm)
	}
	return x.Algorithm
}

func place(x result.Result) string {
	switch {
	case x.Product != nil || x.Bytes == 0:
		return ""
	case x.InPlace:
		return "in place"
	}
	return "out of place"
}

// timeColumns say how long it took, and whether it was right.
func timeColumns(base map[string]result.Result, ceiling float64) []resultColumn {
	optional := func(title, format string, value func(x result.Result) float64) resultColumn {
		return resultColumn{Column{title, true}, func(x result.Result) Cell {
			if v := value(x); v > 0 && !math.IsInf(v, 0) {
				return figure(v, format)
			}
			return Cell{}
		}}
	}
	return []resultColumn{
		optional("median us", "%.2f", median),
		optional("± 95% %", "%.1f", func(x result.Result) float64 { return 100 * stats.Summarize(x.Samples).Spread() }),
		optional("min us", "%.2f", func(x result.Result) float64 { return x.Time.Min }),
		optional("max us", "%.2f", func(x result.Result) float64 { return x.Time.Max }),
		optional("host us", "%.2f", func(x result.Result) float64 { return x.OnHost }),
		optional("algbw GB/s", "%.4g", func(x result.Result) float64 { return x.AlgBW }),
		optional("busbw GB/s", "%.4g", func(x result.Result) float64 { return x.BusBW }),
		optional("% of link", "%.1f", func(x result.Result) float64 { return 100 * x.BusBW / ceiling }),
		optional("TFLOP/s", "%.4g", func(x result.Result) float64 {
			if x.Product == nil {
				return 0
			}
			return x.Product.TFLOPS
		}),
		{Column{"ratio", true}, func(x result.Result) Cell { return ratio(base[bench.CallName(x)], x) }},
		{Column{"wrong", true}, func(x result.Result) Cell {
			if x.Wrong == nil {
				return Cell{Text: "not verified", Number: -1, Status: Warn}
			}
			c := figure(float64(*x.Wrong), "%.0f")
			if *x.Wrong > 0 {
				c.Status = Fail
			}
			return c
		}},
	}
}

// median is a result's time in microseconds.
func median(x result.Result) float64 {
	switch {
	case x.Untimed:
		return 0
	case len(x.Samples) > 0:
		return stats.Median(x.Samples)
	}
	return x.Time.P50
}

// bases are the results that others of the same call are compared with: those of nccl, or else of the first algorithm.
func bases(results []result.Result) map[string]result.Result {
	all := map[string]result.Result{}
	for _, x := range results {
		name := bench.CallName(x)
		if had, ok := all[name]; !ok || had.Algorithm != "nccl" && x.Algorithm == "nccl" {
			all[name] = x
		}
	}
	return all
}

// ratio is how many times as fast a result is as the base, with a tilde where that may be noise. Only results with
// samples have one: those of bench.
func ratio(base, x result.Result) Cell {
	if len(x.Samples) == 0 || len(base.Samples) == 0 || x.IsWrong() || base.IsWrong() {
		return Cell{}
	}
	if bench.Series(x) == bench.Series(base) {
		return Cell{Text: "base", Number: 1}
	}
	c := figure(median(base)/median(x), "%.2f")
	if !stats.Enough(len(base.Samples), len(x.Samples)) ||
		stats.MannWhitney(base.Samples, x.Samples) >= stats.Significance {
		c.Text = "~ " + c.Text
	}
	return c
}

// Pairs is the section of the links between all pairs of GPUs: a matrix for each figure. The matrices are heat maps,
// whose shades go from the least to the largest number.
func Pairs(pairs []result.Pair, none string) Section {
	s := Section{Title: "Links between GPUs"}
	if none != "" {
		s.Notes = []string{none}
	}
	if len(pairs) == 0 {
		return s
	}
	for _, p := range pairs {
		if p.Wrong() {
			s.Status = Fail
			s.Notes = append(s.Notes, fmt.Sprintf("GPU %d to GPU %d carried wrong data.", p.From, p.To))
		}
	}
	s.Tables = []Table{
		matrix("Copies, GB/s: row writes to column", "%.4g", pairs, func(p result.Pair) float64 { return p.CopyGBs }),
		matrix("Copies while all ranks copy, GB/s", "%.4g", pairs, func(p result.Pair) float64 { return p.LoadedGBs }),
		matrix("Loads, ns: row reads from column", "%.0f", pairs, func(p result.Pair) float64 { return p.LatencyNS }),
	}
	s.Tables = slices.DeleteFunc(s.Tables, func(t Table) bool { return len(t.Rows) == 0 })
	return s
}

// matrix is a heat map of a figure. It is empty where nothing was measured.
func matrix(caption, format string, pairs []result.Pair, value func(result.Pair) float64) Table {
	t := Table{Caption: caption, Columns: []Column{{Title: "GPU"}}, Heat: true}
	world, least, most := 0, math.Inf(1), 0.0
	for _, p := range pairs {
		world = max(world, p.From+1, p.To+1)
		if v := value(p); v > 0 {
			least, most = min(least, v), max(most, v)
		}
	}
	if most == 0 {
		return t
	}
	cells := map[[2]int]Cell{}
	for _, p := range pairs {
		c := figure(value(p), format)
		if p.Wrong() {
			c.Status = Fail
		} else {
			c.Shade = 1 + int(8*(c.Number-least)/cmp.Or(most-least, 1))
		}
		cells[[2]int{p.From, p.To}] = c
	}
	for from := range world {
		row := []Cell{{Text: fmt.Sprint(from)}}
		for to := range world {
			row = append(row, cells[[2]int{from, to}])
		}
		t.Columns = append(t.Columns, Column{fmt.Sprint(from), true})
		t.Rows = append(t.Rows, row)
	}
	return t
}
