package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/worker/result"
)

func TestSlowRank(t *testing.T) {
	gpus := []cudart.Info{{Backend: "cuda"}, {Backend: "cuda"}}
	for _, c := range []struct {
		name    string
		devices []cudart.Info
		bytes   int64
		root    int
		times   []float64
		want    int // -1: none
	}{
		{"by 11%", gpus, 1 << 20, -1, []float64{100, 100, 111, 100}, 2},
		{"the first", gpus, 1 << 20, -1, []float64{200, 100, 100, 100}, 0},
		{"by 10%", gpus, 1 << 20, -1, []float64{100, 100, 110, 100}, -1},
		{"within one sigma of the others", gpus, 1 << 20, -1, []float64{50, 150, 150, 160}, -1},
		{"of two", gpus, 1 << 20, -1, []float64{100, 120}, 1},
		{"alone", gpus, 1 << 20, -1, []float64{100}, -1},
		{"nothing measured", gpus, 1 << 20, -1, []float64{0, 0, 0}, -1},
		{"old reports", gpus, 1 << 20, -1, nil, -1},
		{"too small to tell", gpus, 1<<20 - 1, -1, []float64{100, 100, 200}, -1},
		{"beside a root", gpus, 1 << 20, 0, []float64{100, 100, 200}, -1},
		{"simulated", []cudart.Info{{Backend: "sim"}}, 1 << 20, -1, []float64{100, 100, 200}, -1},
	} {
		got := -1
		if rank := SlowRank(c.devices, result.Result{Bytes: c.bytes, Root: c.root, RankTimes: c.times}); rank != nil {
			got = *rank
		}
		if got != c.want {
			t.Errorf("%s: rank %d, want %d", c.name, got, c.want)
		}
	}
}

func TestSlowRanksAreNamedOnce(t *testing.T) {
	three := 3
	fast, slow := measured(1<<20, false, 100, 1), measured(64<<20, true, 100, 1)
	fast.RankTimes = []float64{100, 100, 100, 120}
	slow.RankTimes, slow.SlowRank = []float64{100, 100, 100, 150}, &three
	fast.SlowRank = &three
	small := measured(1<<10, false, 100, 1)
	got := SlowRanks([]result.Result{small, fast, slow, measured(1<<21, false, 5, 5)})
	want := []string{"rank 3 was slower than the others in 2 of 3 results of 1M and more, the most in " +
		"allreduce twoshot float sum, 67108864 bytes in place: 150 us, 50% more than their mean"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
