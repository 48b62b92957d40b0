package trace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Pieces of all ranks, whichever comes first, make the timeline again.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want Timeline
		var queues [][]Rank
		most := rapid.IntRange(1, 4).Draw(t, "most")
		for rank := range rapid.IntRange(1, 4).Draw(t, "ranks") {
			r := Rank{Rank: rank, Device: "device", Met: int64(rank) + 1}
			for n := range rapid.IntRange(0, 9).Draw(t, "tiles") {
				r.Tiles = append(r.Tiles, Tile{Number: n})
			}
			for n := range rapid.IntRange(0, 9).Draw(t, "copies") {
				r.Copies = append(r.Copies, Copy{Chunk: n})
			}
			for n := range rapid.IntRange(0, 9).Draw(t, "steps") {
				r.Steps = append(r.Steps, Step{Line: n})
			}
			want.Ranks = append(want.Ranks, r)
			for _, piece := range r.Pieces(most) {
				if len(piece.Tiles) > most || len(piece.Copies) > most || len(piece.Steps) > most {
					t.Fatalf("%d tiles, %d copies and %d steps in a piece of %d", len(piece.Tiles), len(piece.Copies),
						len(piece.Steps), most)
				}
			}
			queues = append(queues, r.Pieces(most))
		}
		var got Timeline
		for len(queues) > 0 { // of one rank they come in order
			i := rapid.IntRange(0, len(queues)-1).Draw(t, "next")
			got.Add(queues[i][0])
			if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
				queues = slices.Delete(queues, i, i+1)
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
