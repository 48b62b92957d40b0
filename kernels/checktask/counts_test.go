package checktask

import (
	"slices"
	"testing"

	"gpurun/kernels/allgather"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
)

// Parts end within a vector, also those of types of which a size would give whole vectors.
func TestUnevenCounts(t *testing.T) {
	gathers := Calls{Algorithm: allgather.Pull(), Shape: allgather.Collective().Shape, Op: collective.None}
	reduces := Calls{Algorithm: allreduce.OneShot(), Shape: allreduce.Collective().Shape, Op: collective.Sum}
	for _, c := range []struct {
		calls Calls
		d     collective.DType
		world int
		want  int64
		ok    bool
	}{
		{gathers, collective.Float, 2, 125, true},
		{gathers, collective.Double, 2, 63, true}, // 62 are whole vectors
		{gathers, collective.Int8, 4, 251, true},
		{reduces, collective.Float, 2, 0, false}, // one part
	} {
		c.calls.DType = c.d
		if got, ok := c.calls.UnevenCount(1004, c.world); ok != c.ok || got != c.want {
			t.Errorf("%s among %d: %d, %v, want %d, %v", c.d.Name, c.world, got, ok, c.want, c.ok)
		}
	}
}

// A size that is given again makes further calls; different sizes that are rounded to the same count do not.
func TestSizesMayRepeat(t *testing.T) {
	c := Calls{
		Algorithm: allreduce.OneShot(), Shape: allreduce.Collective().Shape, DType: collective.Float, Op: collective.Sum,
	}
	counts, err := c.CountsFor([]int64{256, 258, 256, 4096, 256}, 2, false)
	if want := []int64{64, 64, 1024, 64}; err != nil || !slices.Equal(counts, want) {
		t.Errorf("%v, %v, want %v", counts, err, want)
	}
}
