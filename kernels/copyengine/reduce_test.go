package copyengine

import (
	"testing"

	"pgregory.net/rapid"

	"gpurun/kernels/collective"
)

// Parts follow each other without a gap, begin at whole vectors, and the last one is the
// largest.
func TestPartsCoverAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world := rapid.IntRange(1, collective.MaxRanks).Draw(t, "world")
		bytes := rapid.Int64Range(0, 1<<40).Draw(t, "bytes")
		most := LargestPart(world, bytes)
		at := int64(0)
		for rank := range world {
			begin, size := Part(rank, world, bytes)
			if begin != at || begin%vecBytes != 0 || size < 0 || size > most {
				t.Fatalf("rank %d has %d bytes from %d on, after %d; the last has %d", rank, size, begin, at, most)
			}
			at += size
		}
		if at != bytes {
			t.Fatalf("%d of %d bytes", at, bytes)
		}
	})
}

// Pieces follow each other likewise, and none is empty: each costs a stream's fork and join.
func TestPiecesCoverAShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := Share{
			Bytes:  rapid.Int64Range(0, 1<<40).Draw(t, "bytes"),
			Pieces: rapid.SampledFrom([]Pieces{Pushed, Kept}).Draw(t, "pieces"),
		}
		edges := share.edges(rapid.IntRange(1, collective.MaxRanks).Draw(t, "world"))
		for i, end := range edges[1:] {
			if begin := edges[i]; begin >= end || begin%vecBytes != 0 && begin != share.Bytes {
				t.Fatalf("piece %d is [%d, %d)", i, begin, end)
			}
		}
		if edges[0] != 0 || edges[len(edges)-1] != share.Bytes {
			t.Fatalf("the pieces of %d bytes are %d", share.Bytes, edges)
		}
	})
}
