package matmul

import (
	"testing"

	"gpurun/kernels/collective"
)

// A gather is one after the other where all tiles are resident at once, in one wave, and else fused.
func TestChooseGather(t *testing.T) {
	h200, a100 := GPU{SM: 90, SMs: 132}, GPU{SM: 80, SMs: 108}
	for _, c := range []struct {
		m, n  int64
		world int
		on    GPU
		want  string
	}{
		{1024, 3584, 4, h200, "decomposed"}, // 64 pairs of tiles on as many of 66 pairs of multiprocessors
		{2048, 3584, 4, h200, "fused"},      // 128
		{1024, 3584, 2, h200, "decomposed"},
		{1024, 3584, 1, h200, "fused"}, // which gathers nothing
		{1024, 3584, 4, GPU{SM: 90, SMs: 100}, "fused"},
		{1024, 3584, 4, a100, "fused"},                 // 224 tiles of 128 x 128
		{384, 3584, 4, a100, "fused"},                  // each shard has a row of tiles: 112
		{384, 3584, 3, a100, "decomposed"},             // 84
		{1024, 3584, 4, GPU{SM: 70, SMs: 80}, "fused"}, // no kernel
	} {
		p := Problem{M: c.m, N: c.n, K: 8192, DType: collective.BFloat16}
		if got := allGather().Choose(p, c.world, c.on); got != c.want {
			t.Errorf("%s by %d ranks on %v: %s, want %s", p, c.world, c.on, got, c.want)
		}
	}
}

// The chosen algorithm is one of gpurun's own; for sums it is always fused.
func TestChoiceIsThere(t *testing.T) {
	for _, o := range Operations() {
		for _, m := range []int64{64, 8192} {
			name := o.Choose(Problem{M: m, N: 3584, K: 8192, DType: collective.Half}, 4, GPU{SM: 90, SMs: 132})
			if a, ok := o.Algorithm(name); !ok || a.Library != "" || o.Reduces && name != "fused" {
				t.Errorf("%s of %d rows: %q", o.Name, m, name)
			}
		}
	}
}
