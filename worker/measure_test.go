package worker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

func TestDistribution(t *testing.T) {
	var hundred []time.Duration
	for i := 100; i >= 1; i-- {
		hundred = append(hundred, time.Duration(i)*time.Microsecond)
	}
	for _, tt := range []struct {
		samples []time.Duration
		want    result.Time
	}{
		{nil, result.Time{}},
		{[]time.Duration{1500}, result.Time{Min: 1.5, P50: 1.5, P95: 1.5, P99: 1.5, Max: 1.5}},
		{[]time.Duration{3000, 1000, 2000}, result.Time{Min: 1, P50: 2, P95: 3, P99: 3, Max: 3}},
		{hundred, result.Time{Min: 1, P50: 50, P95: 95, P99: 99, Max: 100}},
	} {
		if diff := cmp.Diff(tt.want, distribution(tt.samples)); diff != "" {
			t.Errorf("%d samples: %s", len(tt.samples), diff)
		}
	}
}

// The slowest rank's times count, bandwidth follows from its median, and what
// is wrong anywhere is wrong.
func TestMerge(t *testing.T) {
	cases := casesOf(t, workload.Job{
		Collective: "allreduce", Algorithms: []string{"auto"}, DTypes: []string{"half"}, Ops: []string{"sum"}, Sizes: []int64{1 << 22},
	}, 4)
	c := cases[1] // in place
	r := &rank{Options: Options{WorldSize: 4, Job: workload.Job{Verify: true, GraphReplays: 3}}}
	r.plan.Collective, _ = kernels.Find("allreduce")
	bad := result.Mismatch{Rank: 3, Wrong: 5, Index: 7, Want: "0x01", Got: "0x02", Phase: "before timing"}
	worse := result.Mismatch{Rank: 3, Wrong: 2, Index: 9, Want: "0x01", Got: "0x02", Phase: "after timing"}
	slow := result.Time{Min: 90, P50: 100, P95: 110, P99: 111, Max: 112}
	got := r.merge(c, []measurement{
		{Time: result.Time{P50: 50, Max: 1000}},
		{Time: slow},
		{Time: result.Time{P50: 99}},
		{Time: result.Time{P50: 1}, Mismatches: []result.Mismatch{bad, worse}},
	})
	wrong := int64(7)
	algbw := float64(1<<22) / 100e-6 / 1e9
	want := result.Result{
		Collective: "allreduce", Algorithm: "twoshot_push", Asked: "auto", Why: "an estimate; nothing measured is at hand", DType: "half", Op: "sum", Root: -1,
		Bytes: 1 << 22, Count: 1 << 21, InPlace: true, Mode: "graph", Wrong: &wrong,
		Mismatches: []result.Mismatch{bad, worse}, Time: slow, SlowestRank: 1, RankTimes: []float64{50, 100, 99, 1},
		AlgBW: algbw, BusBW: algbw * 1.5,
	}
	near := cmp.Comparer(func(a, b float64) bool { return fmt.Sprintf("%.9g", a) == fmt.Sprintf("%.9g", b) })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Error(diff)
	}
}

func TestHexBitsHaveTheWidthOfTheType(t *testing.T) {
	for _, d := range collective.DTypes() {
		if got, want := len(hexBits(1, d.Size)), 2+2*d.Size; got != want {
			t.Errorf("%s: %d digits, want %d", d.Name, got, want)
		}
	}
}
