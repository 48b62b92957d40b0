package matmul

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/ptx/ptxtest"
)

// The structs here and in params.cuh have the same layout: layout.cu puts the numbers
// that the compiler sees into its PTX.
func TestLayoutsMatchTheKernels(t *testing.T) {
	var (
		p     Params
		c     checkParams
		times TileTimes
	)
	for name, want := range map[string][]uintptr{
		"matmul_params_layout": {
			unsafe.Sizeof(p), unsafe.Offsetof(p.A), unsafe.Offsetof(p.AFull), unsafe.Offsetof(p.B), unsafe.Offsetof(p.C),
			unsafe.Offsetof(p.Staging), unsafe.Offsetof(p.Outbox), unsafe.Offsetof(p.Counters), unsafe.Offsetof(p.Progress),
			unsafe.Offsetof(p.Begun), unsafe.Offsetof(p.Copied),
			unsafe.Offsetof(p.Stored), unsafe.Offsetof(p.Produced), unsafe.Offsetof(p.StoredCount), unsafe.Offsetof(p.Partials),
			unsafe.Offsetof(p.PartialsReady), unsafe.Offsetof(p.Trace),
			unsafe.Offsetof(p.M), unsafe.Offsetof(p.N), unsafe.Offsetof(p.K), unsafe.Offsetof(p.ChunkRows),
			unsafe.Offsetof(p.Splits), unsafe.Offsetof(p.ChunkParts), unsafe.Offsetof(p.Epoch), unsafe.Offsetof(p.SegmentTiles),
			unsafe.Offsetof(p.FullWaveTiles), unsafe.Offsetof(p.LastWaveTiles), unsafe.Offsetof(p.SplitKPieces),
			unsafe.Offsetof(p.SplitKSlices), unsafe.Offsetof(p.SplitKStep),
			unsafe.Offsetof(p.ClusterSplits), unsafe.Offsetof(p.Stages), unsafe.Offsetof(p.TileColumns),
			unsafe.Offsetof(p.FirstTiles), unsafe.Offsetof(p.MapA), unsafe.Offsetof(p.MapAFull), unsafe.Offsetof(p.MapB),
			unsafe.Offsetof(p.MapATail), unsafe.Offsetof(p.MapAFullTail), unsafe.Offsetof(p.MapBTail),
			unsafe.Offsetof(p.MapC),
		},
		"tile_times_layout": {
			unsafe.Sizeof(times), unsafe.Offsetof(times.Row), unsafe.Offsetof(times.Column), unsafe.Offsetof(times.Slices),
			unsafe.Offsetof(times.Wait), unsafe.Offsetof(times.Begin), unsafe.Offsetof(times.End),
		},
		"check_layout": {
			unsafe.Sizeof(c), unsafe.Offsetof(c.B), unsafe.Offsetof(c.Out), unsafe.Offsetof(c.Rows),
			unsafe.Offsetof(c.N), unsafe.Offsetof(c.K), unsafe.Offsetof(c.Adds),
		},
	} {
		if diff := cmp.Diff(want, ptxtest.Numbers(t, "matmul_layout", name)); diff != "" {
			t.Errorf("%s (-Go +kernel)\n%s", name, diff)
		}
	}
}
