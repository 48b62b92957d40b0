package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result/plot"
)

// The fastest lines are the same in all diagrams, keep their places, and the fastest is named.
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
	for i, want := range []string{"t (2 of 3, fastest: even)", "r (2 of 3, fastest: even)"} {
		if got[i].Title != want {
			t.Errorf("%q, want %q", got[i].Title, want)
		}
		if got[i].Lines[0].Points != nil || got[i].Lines[1].Points == nil || got[i].Lines[2].Points == nil {
			t.Errorf("%+v", got[i].Lines)
		}
	}
	if times.Lines[0].Points == nil {
		t.Error("the panel that was given has changed")
	}
	if diff := cmp.Diff("t (fastest: even)", Fastest([]plot.Panel{times, rates}, 4)[0].Title); diff != "" {
		t.Error(diff)
	}
}
