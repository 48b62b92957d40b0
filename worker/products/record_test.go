package products

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/worker/result/trace"
)

// A tile belongs to the rank whose rows of the result it is in, of which the last may
// have fewer. What was never written is left out.
func TestDrawing(t *testing.T) {
	recording := matmul.Recording{
		Start: 100,
		Tiles: []matmul.TileTimes{
			{Block: 1, Row: 3, Column: 8, Wait: 110, Begin: 120, End: 130},
			{},
			{Block: 2, Row: 4, Slices: 7, Wait: 111, Begin: 112, End: 113},
			{Block: 1, Row: 9, Wait: 131, Begin: 132, End: 133},
		},
		Copies: []matmul.CopyTimes{{Shard: 2, From: 3, Chunk: 1, Bytes: 64, Begin: 105, End: 125}},
	}
	want := trace.Rank{
		Met: 100,
		Tiles: []trace.Tile{
			{Number: 0, Block: 1, Row: 3, Column: 8, Shard: 0, Wait: 110, Begin: 120, End: 130},
			{Number: 2, Block: 2, Row: 4, Shard: 1, Slices: 7, Wait: 111, Begin: 112, End: 113},
			{Number: 3, Block: 1, Row: 9, Shard: 2, Wait: 131, Begin: 132, End: 133},
		},
		Copies: []trace.Copy{{Shard: 2, From: 3, Chunk: 1, Bytes: 64, Begin: 105, End: 125}},
	}
	got := drawing(recording, matmul.Problem{M: 10, N: 16, K: 8, DType: collective.Half}, 3)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
