package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result/plot"
)

// The fastest lines are the same in all diagrams, come first, and the fastest is named.
func TestFastest(t *testing.T) {
	times := plot.Panel{Title: "t", Lines: []plot.Line{
		{Name: "slow", Points: []plot.Point{{X: 1, Y: 9}, {X: 2, Y: 9}}},
		{Name: "mixed", Points: []plot.Point{{X: 1, Y: 1}, {X: 2, Y: 8}}},
		{Name: "even", Points: []plot.Point{{X: 1, Y: 2}, {X: 2, Y: 2}}},
	}}
	rates := plot.Panel{Title: "r", Lines: []plot.Line{
		{Name: "slow", Points: []plot.Point{{X: 1, Y: 1}}},
		{Name: "mixed", Points: []plot.Point{{X: 1, Y: 1}}},
		{Name: "even", Points: []plot.Point{{X: 1, Y: 1}}},
	}}
	got := Fastest([]plot.Panel{times, rates}, 2)
	for i, want := range []string{"t (2 of 3 shown, fastest: even)", "r (2 of 3 shown, fastest: even)"} {
		if got[i].Title != want {
			t.Errorf("%q, want %q", got[i].Title, want)
		}
		if diff := cmp.Diff([]string{"mixed", "even", "-slow"}, linesOf(got[i])); diff != "" {
			t.Error(diff)
		}
	}
	if times.Lines[0].Points == nil {
		t.Error("the panel that was given has changed")
	}
	if diff := cmp.Diff("t (fastest: even)", Fastest([]plot.Panel{times, rates}, 4)[0].Title); diff != "" {
		t.Error(diff)
	}
}

// linesOf are the names of a panel's lines, with a dash in front of those without points.
func linesOf(p plot.Panel) (names []string) {
	for _, line := range p.Lines {
		name := line.Name
		if line.Points == nil {
			name = "-" + name
		}
		names = append(names, name)
	}
	return names
}

// nccl is shown beside the fastest, also where it is the slowest, and looks like none of them, however many lines there
// are.
func TestFastestShowsNCCL(t *testing.T) {
	panel := plot.Panel{Title: "t"}
	for n, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "nccl", "auto"} {
		us := float64(n + 1)
		if name == "auto" {
			us = 0.5
		}
		panel.Lines = append(panel.Lines, plot.Line{Name: name, Points: []plot.Point{{X: 1, Y: us}}})
	}
	got := Fastest([]plot.Panel{panel, panel}, 4)[0]
	want := []string{"a", "b", "nccl", "auto", "-c", "-d", "-e", "-f", "-g", "-h"}
	if diff := cmp.Diff(want, linesOf(got)); diff != "" {
		t.Error(diff)
	}
}
