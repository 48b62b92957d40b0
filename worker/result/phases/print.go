package phases

import (
	"fmt"
	"io"
)

// Print writes the critical path as a table: for each phase the rank that took longest,
// when it began, how long it took, and by how much the phase delayed the run. A line below names a rank that was often
// late.
func (t Timing) Print(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%-18s %4s %10s %10s %10s\n", "PHASE", "RANK", "BEGIN ms", "TIME ms",
		"PATH ms"); err != nil {
		return err
	}
	for _, row := range t.Path {
		rank, path := "-", fmt.Sprintf("%.1f", row.OnPath)
		if row.Rank != launcherRank {
			rank = fmt.Sprint(row.Rank)
		}
		if row.Concurrent {
			path = "beside"
		}
		if _, err := fmt.Fprintf(w, "%-18s %4s %10.1f %10.1f %10s\n", row.Phase, rank, row.Begin, row.Time,
			path); err != nil {
			return err
		}
	}
	if late := t.late(); late != "" {
		if _, err := fmt.Fprintln(w, late); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, t.summary())
	return err
}

// summary says when the first call was verified, when the first result was reported, and
// how long the run took.
func (t Timing) summary() string {
	text := fmt.Sprintf("the run took %.1f ms", t.Total)
	if t.FirstResult > 0 {
		text = fmt.Sprintf("the first result was reported after %.1f ms, %s", t.FirstResult, text)
	}
	if t.FirstVerified > 0 {
		text = fmt.Sprintf("the first call was verified after %.1f ms, %s", t.FirstVerified, text)
	}
	return text
}
