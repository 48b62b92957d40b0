package check

import (
	"fmt"
	"slices"
	"strings"
)

// otherFindings are the findings that are no race.
func (r *run) otherFindings() []Finding {
	return slices.Concat(r.others, r.staleFindings(), r.lostFindings())
}

// otherText is such a finding as a block of lines.
func (f *Finding) otherText() string {
	if len(f.Waits) > 0 {
		return f.deadlockText()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s", strings.ToUpper(string(f.Kind)), f.Cause)
	if f.Where != "" {
		fmt.Fprintf(&b, ", %s", f.Where)
	}
	b.WriteByte('\n')
	for i, side := range f.Sides {
		label := "then "
		if i == 0 {
			label = "first"
		}
		fmt.Fprintf(&b, "  %s   %v\n", label, side)
	}
	if f.Advice != "" {
		fmt.Fprintf(&b, "  %s\n", f.Advice)
	}
	return b.String()
}
