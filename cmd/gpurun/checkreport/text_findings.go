package checkreport

import (
	"fmt"
	"io"
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
		fmt.Fprintf(w, "  %s\n", f.provenance())
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
	if pairs > 0 {
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

// provenance says where a finding was seen, and which file has a schedule that shows it.
func (f Finding) provenance() string {
	text := fmt.Sprintf("in %s of %s, first in number %d", suggest.Count(f.Schedules, "schedule", "schedules"), f.Case,
		f.Schedule)
	switch {
	case f.Replay == "":
		return text
	case f.Shrunk > 0:
		return fmt.Sprintf("%s: %s, shrunk to %d of %d decisions", text, f.Replay, f.Decisions, f.Shrunk)
	}
	return fmt.Sprintf("%s: %s", text, f.Replay)
}
