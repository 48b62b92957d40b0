package matmul

import "testing"

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
		{1024, 3584, 64, 4, 132, 224}, // 64 pairs in one round
		{1024, 6656, 64, 4, 132, 224}, // 120 pairs in two rounds, 104 of the widest tiles take as many
		{1024, 8192, 64, 4, 132, 256}, // 128 pairs in two rounds
		{8192, 6656, 64, 2, 132, 256}, // 832 pairs in thirteen rounds; 960 would take fifteen
		{1024, 3584, 8192, 4, 132, 224},
		{1024, 8192, 8192, 4, 132, 256},
		{8192, 3584, 64, 2, 132, 224},    // eight rounds of 236 instead of seven of 272
		{4096, 8192, 64, 2, 132, 224},    // nine rounds of 236 instead of eight of 272
		{4096, 6656, 64, 2, 132, 224},    // eight rounds of 236 instead of seven of 272
		{4096, 6656, 16384, 2, 132, 256}, // six rounds, and 20 tiles that 66 clusters share
	} {
		p := Problem{M: c.m, N: c.n, K: c.k, DType: DTypes()[0]}
		best := wgmmaWidths()[0]
		for _, w := range wgmmaWidths() {
			if w.cost(work{Problem: p, shards: c.shards}, c.sms) < best.cost(work{Problem: p, shards: c.shards}, c.sms) {
				best = w
			}
		}
		if best != c.want {
			t.Errorf("%s in %d shards on %d multiprocessors: %d columns, not %d", p, c.shards, c.sms, best, c.want)
		}
	}
}
