package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gpurun/worker/result"
	"gpurun/worker/result/stats"
)

// Print writes a comparison as a Markdown table, or as a table for a terminal with so many columns; 0 is any number.
func (c Comparison) Print(w io.Writer, markdown bool, width int) error {
	var b strings.Builder
	comment := "# "
	if markdown {
		comment = "\n"
	}
	columns := changeColumns()
	narrow := !markdown && width > 0 && width < widthOf(columns)+len(columnGap)+len(slowerThanTolerated)
	if narrow {
		columns = narrowed(columns)
	}
	last := ""
	for _, x := range c.Changes {
		if name := x.sweepName(); name != last {
			last = name
			b.WriteString(changeHeading(columns, name, markdown))
		}
		words := x.cells()
		if narrow {
			words = slices.Delete(words, pColumn, pColumn+1)
		}
		if markdown {
			b.WriteString(markdownLine(words) + "\n")
		} else {
			b.WriteString(align(columns, words) + "\n")
		}
	}
	if !markdown {
		b.WriteString("#\n")
	}
	for _, sentence := range c.conclusions() {
		b.WriteString(comment + sentence + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// changeColumns are the columns of changes; the cells are those of Change.cells.
func changeColumns() []column {
	return []column{
		{title: "size", width: 8},
		{title: "algorithm", width: 16, left: true},
		{title: "old us", width: 11},
		{title: "± 95%", width: 7},
		{title: "new us", width: 11},
		{title: "± 95%", width: 7},
		{title: "change", width: 9},
		{title: "p", width: 7},
		{title: "", left: true},
	}
}

// pColumn is the column of p-values. A narrow table lacks it: its last column says what is significant.
const pColumn = 7

// narrowed are the columns of a table that fits in 80 characters.
func narrowed(columns []column) []column {
	columns = slices.Delete(columns, pColumn, pColumn+1)
	for i, c := range columns {
		switch c.title {
		case "size":
			columns[i].width = len("1234567")
		case "old us", "new us":
			columns[i].width = len("12345.67")
		case "± 95%":
			columns[i].width = len("123.4%")
		case "change":
			columns[i].width = len("+123.4%")
		}
	}
	return columns
}

// slowerThanTolerated marks a change that failed.
const slowerThanTolerated = "SLOWER"

func (c Change) cells() []string {
	change, p := fmt.Sprintf("%+.1f%%", c.Percent), "-"
	switch {
	case c.P == nil:
	case *c.P < 0.001:
		p = "<0.001"
	default:
		p = fmt.Sprintf("%.3f", *c.P)
	}
	verdict := string(c.Verdict)
	if c.Failed {
		verdict = slowerThanTolerated
	}
	return []string{
		result.FormatSize(c.Bytes), c.name(), fmt.Sprintf("%.2f", c.Old.Median), c.Old.spread(),
		fmt.Sprintf("%.2f", c.New.Median), c.New.spread(), change, p, verdict,
	}
}

// name is the algorithm, with the splits or the blocks if the user chose them.
func (c Case) name() string {
	switch {
	case c.Splits > 1:
		return fmt.Sprintf("%s/%d", c.Algorithm, c.Splits)
	case c.Blocks == 0:
		return c.Algorithm
	}
	return fmt.Sprintf("%s/%d", c.Algorithm, c.Blocks)
}

// spread is how far the interval reaches, in percent.
func (s Side) spread() string {
	switch {
	case s.Samples == 0:
		return "-"
	case s.High == 0:
		return percentOf(math.Inf(1))
	}
	return percentOf(stats.Summary{Median: s.Median, Low: s.Low, High: s.High}.Spread())
}

// sweepName names the cases that are printed under one heading.
func (c Case) sweepName() string {
	words := sweepName(result.Result{
		Collective: c.Collective, DType: c.DType, Op: c.Op, Epilogue: c.Epilogue, InPlace: c.InPlace,
	})
	if c.Product != "" {
		words = fmt.Sprintf("%s %s, %s", c.Collective, c.DType, c.Product)
	}
	if c.Root >= 0 {
		words += fmt.Sprintf(", root %d", c.Root)
	}
	return fmt.Sprintf("%s, %s, %d ranks", words, c.Mode, c.WorldSize)
}

func changeHeading(columns []column, name string, markdown bool) string {
	words := titles(columns)
	if markdown {
		return fmt.Sprintf("\n### %s\n\n%s\n%s\n", name, markdownLine(words), markdownRule(columns))
	}
	return fmt.Sprintf("#\n# %s\n#%s\n", name, strings.TrimPrefix(align(columns, words), " "))
}

func (c Comparison) conclusions() []string {
	var all []string
	for _, side := range []struct {
		which string
		cases []Case
	}{{"old", c.OnlyOld}, {"new", c.OnlyNew}} {
		for _, what := range listCases(side.cases) {
			all = append(all, fmt.Sprintf("only in the %s run: %s", side.which, what))
		}
	}
	count := map[Verdict]int{}
	for _, x := range c.Changes {
		count[x.Verdict]++
	}
	all = append(all, fmt.Sprintf("geometric mean of the changes: %+.1f%%; %d faster, %d slower, %d as before "+
		"(~: p >= %.2f)%s", c.Mean, count[Faster], count[Slower], count[Noise], stats.Significance, unknowns(count[Unknown])))
	if failures := c.Failures(); len(failures) > 0 {
		return append(all, "FAILED: "+strings.Join(failures, "; "))
	}
	return append(all, fmt.Sprintf("none is significantly slower by more than %g%%", c.Tolerance))
}

// listCases names cases, with the sizes of otherwise equal cases on one line.
func listCases(cases []Case) []string {
	var all []string
	for i := 0; i < len(cases); {
		name := func(c Case) string { return c.name() + ", " + c.sweepName() + ":" }
		line := name(cases[i])
		for first := i; i < len(cases) && name(cases[i]) == name(cases[first]); i++ {
			line += " " + result.FormatSize(cases[i].Bytes)
		}
		all = append(all, line)
	}
	return all
}

func unknowns(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d unknown (?)", n)
}
