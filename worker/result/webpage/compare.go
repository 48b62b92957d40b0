package webpage

import (
	"fmt"
	"strings"

	"gpurun/worker/result"
	"gpurun/worker/result/bench"
)

// Comparison is the document of a comparison of two runs.
func Comparison(title string, c bench.Comparison) Document {
	d := Document{Title: title, Status: Pass, Verdict: fmt.Sprintf("no case is slower by more than %g%%", c.Tolerance)}
	if failures := c.Failures(); len(failures) > 0 {
		d.Status, d.Verdict = Fail, strings.Join(failures, "; ")
	}
	d.Verdict += fmt.Sprintf("; geometric mean of the changes: %+.1f%%", c.Mean)
	if len(c.Warnings) > 0 {
		d.Sections = append(d.Sections, Section{Title: "Warnings", Status: Warn, Notes: c.Warnings})
	}
	d.Sections = append(d.Sections, Section{Title: "Changes", Tables: []Table{changes(c.Changes)}})
	for _, missing := range []struct {
		title string
		cases []bench.Case
	}{{"Cases that only the old run has", c.OnlyOld}, {"Cases that only the new run has", c.OnlyNew}} {
		if len(missing.cases) > 0 {
			t := Table{Caption: missing.title, Columns: caseColumns()}
			for _, each := range missing.cases {
				t.Rows = append(t.Rows, caseCells(each))
			}
			d.Sections = append(d.Sections, Section{Title: missing.title, Tables: []Table{t}})
		}
	}
	return d
}

func changes(all []bench.Change) Table {
	t := Table{Caption: "Changes of medians", Columns: append(caseColumns(), []Column{
		{"old us", true}, {"new us", true}, {"change %", true}, {"p", true}, {Title: "verdict"},
	}...)}
	for _, c := range all {
		p := Cell{Text: "-", Number: 2}
		if c.P != nil {
			p = figure(*c.P, "%.3f")
		}
		verdict := Cell{Text: string(c.Verdict)}
		switch {
		case c.Failed:
			verdict.Status = Fail
		case c.Verdict == bench.Faster:
			verdict.Status = Pass
		}
		t.Rows = append(t.Rows, append(caseCells(c.Case), figure(c.Old.Median, "%.2f"), figure(c.New.Median, "%.2f"),
			figure(c.Percent, "%+.1f"), p, verdict))
	}
	return t
}

func caseColumns() []Column {
	return []Column{{"size", true}, {Title: "collective"}, {Title: "algorithm"}, {Title: "call"}}
}

func caseCells(c bench.Case) []Cell {
	place := "out of place"
	switch {
	case c.Product != "":
		place = c.Product
	case c.InPlace:
		place = "in place"
	}
	return []Cell{
		{Text: result.FormatSize(c.Bytes), Number: float64(c.Bytes)},
		{Text: c.Collective},
		{Text: c.Algorithm},
		{Text: words(c.DType, c.Op, c.Epilogue, place, c.Mode, result.Count(c.WorldSize, "rank"))},
	}
}
