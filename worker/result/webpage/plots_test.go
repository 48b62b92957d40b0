package webpage

import (
	"slices"
	"testing"

	"gpurun/worker/result"
)

// A plot shows four lines at first, the fastest, of which the title names the best; the others are there, and hidden.
func TestPlotsShowTheFastest(t *testing.T) {
	r := result.Report{}
	for n, name := range []string{"slowest", "slower", "b", "c", "best", "d"} {
		us := []float64{90, 80, 12, 13, 10, 14}[n]
		r.Results = append(r.Results, result.Result{
			Collective: "allreduce", Algorithm: name, DType: "float", Op: "sum", Bytes: 1024, Mode: "graph",
			Time: result.Time{P50: us}, BusBW: 1 / us,
		})
	}
	all := plots(r)
	if len(all) != 2 {
		t.Fatalf("%d plots", len(all))
	}
	for _, p := range all {
		if p.Title != "allreduce float sum, out of place (4 of 6 shown, fastest: best)" || len(p.Lines) != 6 ||
			!slices.Equal(p.Hidden, []string{"slowest", "slower"}) || p.Lines[0].Name != "b" || p.Lines[5].Name != "slower" ||
			len(p.Lines[5].Points) != 1 {
			t.Errorf("%q, %+v, hidden %q", p.Title, p.Lines, p.Hidden)
		}
	}
}
