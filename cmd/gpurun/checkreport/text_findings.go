package checkreport

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/suggest"
)

// writeFindings writes the causes, each with what it explains, and how to see a schedule again.
func writeFindings(w io.Writer, r Report) {
	replay := ""
	for at, f := range r.Findings {
		if f.Role != Cause {
			continue
		}
		fmt.Fprintf(w, "\n%s\n", strings.Join(f.Text, "\n"))
		for _, line := range r.related(at) {
			fmt.Fprintf(w, "  %s\n", line)
		}
		fmt.Fprintf(w, "  %s\n", r.provenance(at))
		if replay == "" {
			replay = f.Replay
		}
	}
	if replay != "" {
		fmt.Fprintf(w, "\nrun a schedule again: gpurun check --replay %s\n", replay)
	}
}

// related says what else has the cause that has a place in the report's findings.
func (r Report) related(cause int) (lines []string) {
	pairs, same := 0, ""
	for _, f := range r.Findings {
		if f.Group == cause && f.Role == Pair {
			pairs, same = pairs+1, f.Same
		}
	}
	switch {
	case pairs > 0 && same == "result":
		lines = append(lines, fmt.Sprintf("and %s, which --json lists", suggest.Count(pairs, "more result", "more results")))
	case pairs > 0:
		lines = append(lines, fmt.Sprintf("and %s for the same %s, which --json lists",
			suggest.Count(pairs, "more pair of lines", "more pairs of lines"), same))
	}
	for _, f := range r.Findings {
		if f.Group == cause && f.Role == Consequence {
			lines = append(lines, fmt.Sprintf("%s in %s may follow from it: %s", consequences[f.Kind],
				suggest.Count(f.Schedules, "schedule", "schedules"), f.subject()))
		}
	}
	return lines
}

// consequences name kinds of findings as what follows from another one.
var consequences = map[string]string{"wrong-result": "wrong results", "uninitialized": "reads of what nobody wrote"}

// subject is the headline of a finding without its kind.
func (f Finding) subject() string {
	if len(f.Text) == 0 {
		return f.Where
	}
	_, text, _ := strings.Cut(f.Text[0], "  ")
	return text
}

// provenance says which schedules show a finding, and which file has one of them. The first one is of the case that has
// the finding first.
func (r Report) provenance(at int) string {
	f := r.Findings[at]
	var cases []Case
	for _, c := range r.Cases {
		if slices.Contains(c.Findings, at) {
			cases = append(cases, c)
		}
	}
	text := "in " + suggest.Count(f.Schedules, "schedule", "schedules") + " of "
	switch rows := rowsOf(cases); {
	case len(cases) < 2:
		text += fmt.Sprintf("%s, first in number %d", f.Case, f.Schedule)
	case len(rows) == 1:
		text += fmt.Sprintf("%s, %s, first in number %d of %s", rows[0].name, ranksOf(cases), f.Schedule, ranksOf(cases[:1]))
	default:
		text += fmt.Sprintf("%d algorithms, %s, first in number %d of %s", len(rows), ranksOf(cases), f.Schedule, f.Case)
	}
	switch {
	case f.Replay == "":
		return text
	case f.Shrunk > 0:
		return fmt.Sprintf("%s: %s, shrunk to %d of %d decisions", text, f.Replay, f.Decisions, f.Shrunk)
	}
	return fmt.Sprintf("%s: %s", text, f.Replay)
}
