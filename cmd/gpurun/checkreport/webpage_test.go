package checkreport

import (
	"slices"
	"testing"
)

// The page counts findings as the text does: by their causes. A finding has the lines that are below it in the text.
func TestPageCountsCauses(t *testing.T) {
	r := sample()
	pair := r.Findings[0]
	pair.Role, pair.Same = Pair, "flag"
	r.Findings = append(r.Findings, pair)
	r.Cases[0].Findings = []int{0, 1, 2, 99}
	sections := Page("gpurun check", r).Sections
	if len(sections) != 3 { // of the finding, of what was checked, of what is suppressed
		t.Fatalf("%d sections", len(sections))
	}
	want := "  and 1 more pair of lines for the same flag, which --json lists"
	if !slices.Contains(sections[0].Text, want) {
		t.Errorf("%q has no %q", sections[0].Text, want)
	}
	row := sections[1].Tables[0].Rows[0]
	if got := row[len(row)-2].Text + " " + row[len(row)-1].Text; got != "1 0" {
		t.Errorf("%s findings and notes, want 1 0", got)
	}
}
