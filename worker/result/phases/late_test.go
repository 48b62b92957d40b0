package phases

import (
	"bytes"
	"strings"
	"testing"
)

// timed has ranks finish the phases Init, Open, Join and Compare, each so many milliseconds after the start.
func timed(ranks ...[]float64) (t Timing) {
	for rank, ends := range ranks {
		var rows []Row
		for i, end := range ends {
			rows = append(rows, Row{Phase: Init + Phase(i), Rank: rank, Begin: end - 1, Time: 1})
		}
		t.Ranks = append(t.Ranks, Rank{rank, rows})
	}
	return t
}

func TestLate(t *testing.T) {
	for name, c := range map[string]struct {
		timing Timing
		want   string
	}{
		"rank 1 is late": {
			timed([]float64{10, 20, 100, 200}, []float64{50, 80, 120, 200.5}, []float64{11, 30, 99, 200}),
			"rank 1 finished last in 3 of 4 phases, 39.0 ms after the others (median; at most 50.0 ms)",
		},
		"late twice":        {timed([]float64{10, 20, 100, 200}, []float64{50, 80, 100, 200}), ""},
		"late by little":    {timed([]float64{10, 20, 30, 40}, []float64{15, 25, 35, 45}), ""},
		"by turns":          {timed([]float64{10, 90, 100, 290}, []float64{50, 20, 150, 200}), ""},
		"a rank has failed": {timed([]float64{10, 20, 30, 40}, []float64{50, 60, 70, 80}, []float64{1}), ""},
		"one rank":          {timed([]float64{10, 20, 30, 40}), ""},
	} {
		if got := c.timing.late(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		var b bytes.Buffer
		if err := c.timing.Print(&b); err != nil || strings.Contains(b.String(), "finished last") != (c.want != "") {
			t.Errorf("%s: error %v, printed:\n%s", name, err, b.String())
		}
	}
}
