package checkreport

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/worker/result/webpage"
)

// Page is the document of a report: the findings first, each with its text and the events around it.
func Page(title string, r Report) webpage.Document {
	d := webpage.Document{Title: title, Status: webpage.Fail, Verdict: r.Summary()}
	switch r.Verdict {
	case Clean:
		d.Status = webpage.Pass
	case Incomplete:
		d.Status, d.Reasons = webpage.Warn, r.Incomplete
	}
	for at, f := range r.Findings {
		if f.Role == Cause {
			d.Sections = append(d.Sections, r.findingSection(at))
		}
	}
	d.Sections = append(d.Sections, webpage.Section{Title: "What was checked", Tables: []webpage.Table{caseTable(r)}})
	if len(r.Suppressed) > 0 {
		d.Sections = append(d.Sections, suppressedSection(r.Suppressed))
	}
	d.Facts = []webpage.Fact{
		{Name: "Seed", Value: fmt.Sprint(r.Seed)},
		{Name: "Version", Value: "gpurun " + r.Version},
		webpage.Command(r.Command),
	}
	return d
}

// findingSection is the finding at a place, with what else has its cause.
func (r Report) findingSection(at int) webpage.Section {
	f := r.Findings[at]
	s := webpage.Section{Title: f.Message(), Status: webpage.Fail, Text: slices.Clone(f.Text)}
	for _, line := range append(r.related(at), r.provenance(at)) {
		s.Text = append(s.Text, "  "+line)
	}
	if f.Note {
		s.Status = webpage.Warn
	}
	t := webpage.Table{Caption: "Instructions", Columns: []webpage.Column{
		{Title: "who"},
		{Title: "does"},
		{Title: "instruction"},
		{Title: "source"},
		{Title: "PTX"},
		{Title: "line", Numeric: true},
	}}
	for _, side := range slices.Concat(f.Sides, f.Flag) {
		t.Rows = append(t.Rows, []webpage.Cell{
			{Text: side.Who()},
			{Text: side.Action},
			{Text: side.Instruction},
			{Text: side.sourceLines()},
			{Text: side.Module},
			{Text: fmt.Sprint(side.Line), Number: float64(side.Line)},
		})
	}
	s.Tables = []webpage.Table{t}
	if len(f.Events) > 0 {
		s.Drawings = []webpage.Drawing{drawing(f)}
	}
	if f.Replay != "" {
		s.Notes = append(s.Notes, "Run this schedule again: gpurun check --replay "+f.Replay)
	}
	return s
}

// drawing is a timeline of the last events before a finding: each takes one step.
func drawing(f Finding) webpage.Drawing {
	first, second, ok := f.among(f.Events)
	title := "The events before the finding, from left to right in their order"
	if ok && (f.Events[first].Who() != f.Sides[0].Who() || f.Events[second].Who() != f.Sides[1].Who()) {
		title += ": the same lines in other warps"
	}
	var names []string
	lanes := map[string]*webpage.Lane{}
	for i, e := range f.Events {
		who := e.Who()
		if lanes[who] == nil {
			lanes[who] = &webpage.Lane{Name: who}
			names = append(names, who)
		}
		lanes[who].Slices = append(lanes[who].Slices, webpage.Slice{
			Begin: float64(i), End: float64(i) + 0.8, Kind: e.kind(), Tip: e.tip(), Side: ok && (i == first || i == second),
		})
	}
	slices.Sort(names)
	var all []webpage.Lane
	for _, name := range names {
		all = append(all, *lanes[name])
	}
	return webpage.Timeline(title, "", all)
}

// kind is what a color stands for.
func (e Event) kind() string {
	switch {
	case e.Barrier:
		return "barrier"
	case e.Release && e.Acquire:
		return "release and acquire"
	case e.Release:
		return "release"
	case e.Acquire:
		return "acquire"
	}
	return map[string]string{"reads": "read", "writes": "write", "updates": "atomic"}[e.Action]
}

func (e Event) tip() string {
	lines := []string{e.Who(), strings.TrimSpace(e.Action + " " + e.Where), e.Instruction}
	if file, line := e.Place(); file != "" {
		lines = append(lines, fmt.Sprintf("%s:%d", file, line))
	}
	return strings.Join(lines, "\n")
}

func caseTable(r Report) webpage.Table {
	t := webpage.Table{Caption: "What was checked", Columns: []webpage.Column{
		{Title: "algorithm"},
		{Title: "ranks", Numeric: true},
		{Title: "schedules", Numeric: true},
		{Title: "behaviors", Numeric: true},
		{Title: "pairs of instructions", Numeric: true},
		{Title: "in both orders", Numeric: true},
		{Title: "findings", Numeric: true},
		{Title: "notes", Numeric: true},
	}}
	count := func(n int) webpage.Cell { return webpage.Cell{Text: fmt.Sprint(n), Number: float64(n)} }
	for _, c := range r.Cases {
		causes := r.causesOf(c.Findings)
		found := count(causes.findings)
		found.Status = webpage.Pass
		switch {
		case causes.findings > 0:
			found.Status = webpage.Fail
		case len(c.Incomplete) > 0:
			found.Status = webpage.Warn
		}
		name, _, _ := strings.Cut(c.Name(), ", ")
		t.Rows = append(t.Rows, []webpage.Cell{
			{Text: name},
			count(c.Ranks), count(c.Schedules), count(c.Behaviors), count(c.Pairs), count(c.BothOrders), found,
			count(causes.notes),
		})
	}
	return t
}

func suppressedSection(all []Suppressed) webpage.Section {
	t := webpage.Table{Caption: "Accepted findings", Columns: []webpage.Column{{Title: "finding"}, {Title: "reason"}}}
	for _, s := range all {
		t.Rows = append(t.Rows, []webpage.Cell{{Text: s.Message()}, {Text: s.Reason}})
	}
	return webpage.Section{Title: "Accepted findings", Tables: []webpage.Table{t}}
}
