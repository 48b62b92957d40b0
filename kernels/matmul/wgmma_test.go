package matmul

import (
	"testing"

	"gpurun/kernels/matmul/schedule"
)

// The width of tiles is the one with which the busiest cluster has least to do.
func TestWidth(t *testing.T) {
	for _, w := range wgmmaWidths() {
		if w.tileTime() < int64(w) {
			t.Errorf("tiles of %d columns take %d, less than tensor cores do", w, w.tileTime())
		}
	}
	for _, c := range []struct {
		m, n, k int64
		shards  int
		sms     int
		want    wgmma
	}{
		{280, 250, 64, 2, 4, 256}, // one tile, whatever the width: the narrowest that is one
		{280, 220, 64, 2, 4, 224},
		{280, 100, 64, 2, 4, 128},
		{280, 250, 64, 2, 2, 256}, // conformance has these on one cluster
		{280, 220, 64, 2, 2, 224},
		{280, 100, 64, 2, 2, 128},
		{280, 250, 64, 1, 2, 256},
		{280, 220, 64, 1, 2, 224},
		{1024, 3584, 64, 4, 132, 224}, // 64 pairs in one wave
		{1024, 6656, 64, 4, 132, 224}, // 120 pairs in two waves, 104 of the widest tiles take as many
		{1024, 8192, 64, 4, 132, 256}, // 128 pairs in two waves
		{8192, 6656, 64, 2, 132, 256}, // 832 pairs in thirteen waves; 960 would take fifteen
		{1024, 3584, 8192, 4, 132, 224},
		{1024, 8192, 8192, 4, 132, 256},
		{8192, 3584, 64, 2, 132, 224},    // eight waves of 236 instead of seven of 272
		{4096, 8192, 64, 2, 132, 224},    // nine waves of 236 instead of eight of 272
		{4096, 6656, 64, 2, 132, 224},    // eight waves of 236 instead of seven of 272
		{4096, 6656, 16384, 2, 132, 256}, // six waves, and 20 tiles that 66 clusters share
	} {
		p := Problem{M: c.m, N: c.n, K: c.k, DType: DTypes()[0]}
		best := wgmmaWidths()[0]
		for _, w := range wgmmaWidths() {
			if w.cost(shardedProblem{Problem: p, shards: c.shards},
				c.sms) < best.cost(shardedProblem{Problem: p, shards: c.shards}, c.sms) {
				best = w
			}
		}
		if best != c.want {
			t.Errorf("%s in %d shards on %d multiprocessors: %d columns, not %d", p, c.shards, c.sms, best, c.want)
		}
	}
}

// The split-K of the problems in kernels/NOTES.md on an H200, whose links need some slices for the sums of a wave, and
// that of a problem of conformance, whose second tile has a shorter piece.
func TestLastWave(t *testing.T) {
	for _, c := range []struct {
		columns     wgmma
		m, n, k     int64
		shards, sms int
		gathers     bool
		peers       int
		want        schedule.SplitK
	}{
		// of 50 tiles, with 16 clusters
		{224, 8192, 3584, 8192, 2, 132, false, 0, schedule.SplitK{Tiles: 50, Ways: 1, Length: 19, Step: 0}},
		// of 20, with 46
		{256, 4096, 6656, 16384, 2, 132, false, 0, schedule.SplitK{Tiles: 20, Ways: 2, Length: 82, Step: 0}},
		{224, 4096, 3584, 8192, 2, 132, false, 0, schedule.SplitK{}}, // of 58, with 8: too short
		{224, 4096, 3584, 8192, 2, 132, false, 1, schedule.SplitK{Tiles: 24, Ways: 1, Length: 29, Step: 36157}},
		{256, 8192, 8192, 8192, 2, 132, false, 1, schedule.SplitK{Tiles: 34, Ways: 1, Length: 48, Step: 36623}},
		{224, 1024, 6656, 16384, 2, 132, false, 0, schedule.SplitK{Tiles: 54, Ways: 1, Length: 36, Step: 0}},
		{224, 1024, 6656, 16384, 2, 132, true, 0, schedule.SplitK{}}, // those who would help wait for the peer's shard first
		{256, 4096, 6656, 16384, 2, 132, true, 0, schedule.SplitK{Tiles: 20, Ways: 2, Length: 82, Step: 0}},
		{128, 700, 100, 4600, 5, 6, false, 4, schedule.SplitK{Tiles: 2, Ways: 1, Length: 19, Step: 65536}},
	} {
		p := Problem{M: c.m, N: c.n, K: c.k, DType: DTypes()[0]}
		w := shardedProblem{Problem: p, shards: c.shards, gathers: c.gathers, peers: c.peers}
		if got := c.columns.lastWave(w, c.sms).Split(); got != c.want {
			t.Errorf("%s by tiles of %d columns, %d peers: %+v, want %+v", p, c.columns, c.peers, got, c.want)
		}
	}
}

// Tiles of a local product are paired side by side where the last row of tiles would be alone; those of a shard never.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		m, n         int64
		local, shard int64
	}{
		{128, 1000, 4, 8}, // of 8 tiles
		{1, 128, 1, 1},
		{129, 1000, 8, 8},
		{256, 1000, 8, 8},
		{257, 1000, 8 + 4, 16},
		{384, 1020, 8 + 4, 16},
		{600, 900, 16 + 4, 24},
		{600, 896, 14 + 4, 21}, // of 7 tiles
		{641, 896, 21, 21},
	} {
		w := shardedProblem{Problem: Problem{M: c.m, N: c.n, K: 64, DType: DTypes()[0]}, shards: 1}
		if got := wgmma(128).pairs(w); got != c.shard {
			t.Errorf("%s of a shard has %d pairs, not %d", w.Problem, got, c.shard)
		}
		w.isLocal = true
		if got := wgmma(128).pairs(w); got != c.local {
			t.Errorf("%s has %d pairs, not %d", w.Problem, got, c.local)
		}
	}
}

// A kernel whose clusters are placed by GPC has several full waves, and no PDL.
func TestPlacedKernelsHaveNoPDL(t *testing.T) {
	for m, pdl := range map[int64]bool{1024: true, 2048: true, 3072: false, 4096: false} {
		w := shardedProblem{Problem: Problem{M: m, N: 3584, K: 8192, DType: DTypes()[0]}, shards: 2}
		if got := wgmma(224).grid(w, 132).PDL; got != pdl {
			t.Errorf("%s has PDL: %t, want %t", w.Problem, got, pdl)
		}
	}
}

// However many multiprocessors there are, a kernel has no more clusters than its parameters have tiles for.
func TestMostClusters(t *testing.T) {
	w := shardedProblem{Problem: Problem{M: 16384, N: 16384, K: 64, DType: DTypes()[0]}, shards: 1}
	for sms, blocks := range map[int]int{132: 132, 133: 132, 144: 144, 200: 144} {
		if got := wgmma(256).grid(w, sms).Blocks; got != blocks {
			t.Errorf("on %d multiprocessors there are %d blocks, not %d", sms, got, blocks)
		}
	}
}
