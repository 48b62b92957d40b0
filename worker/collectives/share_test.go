package collectives

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels"
	"gpurun/worker/library"
	"gpurun/worker/measure"
	"gpurun/worker/rank"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// The slowest rank's times count, bandwidth follows from its median, and what
// is wrong anywhere is wrong.
func TestMerge(t *testing.T) {
	cases := casesOf(t, workload.Job{
		Collective: "allreduce", Algorithms: []string{"auto"}, DTypes: []string{"half"}, Ops: []string{"sum"},
		Sizes: []int64{1 << 22},
	}, 4)
	c := cases[1] // in place
	r := &run{
		Rank:       &rank.Rank{World: 4, Libraries: library.New(library.Options{})},
		job:        workload.Job{Verify: true, GraphReplays: 3},
		collective: must(kernels.Find("allreduce")),
	}
	bad := result.Mismatch{Rank: 3, Wrong: 5, Index: 7, Want: "0x01", Got: "0x02", Phase: "before timing"}
	worse := result.Mismatch{Rank: 3, Wrong: 2, Index: 9, Want: "0x01", Got: "0x02", Phase: "after timing"}
	slow := result.Time{Min: 90, P50: 100, P95: 110, P99: 111, Max: 112}
	got := r.merge(c, []measure.Measurement{
		{Time: result.Time{P50: 50, Max: 1000}},
		{Time: slow},
		{Time: result.Time{P50: 99}},
		{Time: result.Time{P50: 1}, Mismatches: []result.Mismatch{bad, worse}},
	})
	wrong := int64(7)
	algbw := float64(1<<22) / 100e-6 / 1e9
	want := result.Result{
		Collective: "allreduce", Algorithm: "twoshot_push", Asked: "auto", Why: "an estimate; nothing measured is at hand",
		DType: "half", Op: "sum", Root: -1,
		Bytes: 1 << 22, Count: 1 << 21, InPlace: true, Mode: "graph", Wrong: &wrong,
		Mismatches: []result.Mismatch{bad, worse}, Time: slow, SlowestRank: 1, RankTimes: []float64{50, 100, 99, 1},
		AlgBW: algbw, BusBW: algbw * 1.5,
	}
	near := cmp.Comparer(func(a, b float64) bool { return fmt.Sprintf("%.9g", a) == fmt.Sprintf("%.9g", b) })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Error(diff)
	}
}

func must[T any](x T, _ bool) T { return x }
