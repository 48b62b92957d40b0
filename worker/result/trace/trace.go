// Package trace draws timelines of products that overlap with communication, as Chrome
// trace events, which chrome://tracing and Perfetto open.
//
// A process of the picture is a rank. Its threads are the streams of copies, with a slice
// for each chunk, and the blocks of the kernel, with a slice for each tile and one for
// each wait before it. The format is that of the document "Trace Event Format":
// complete events (ph X) and metadata (ph M), times in microseconds.
//
// Every GPU has a clock of its own, so that each rank's times count from the moment at
// which it left a barrier of all ranks: ranks are aligned as well as a barrier lets them
// go, within a few microseconds.
package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// Timeline is one call on all ranks.
type Timeline struct {
	Title string // what was called: operation, algorithm, shape
	Ranks []Rank
}

// Rank is what one rank did. Times are nanoseconds of its GPU's clock.
type Rank struct {
	Rank   int    `json:"rank"`
	Device string `json:"device"`
	// Met is when the rank left the barrier before the call.
	Met    int64  `json:"met"`
	Tiles  []Tile `json:"tiles"`
	Copies []Copy `json:"copies"`
}

// Tile is a part of the result. The block began to wait for the tile's operands at Wait,
// had them at Begin, and had stored the tile at End. Shard is the rank whose rows of A or
// C it is about.
type Tile struct {
	Number int   `json:"number"`
	Block  int   `json:"block"`
	Row    int64 `json:"row"`
	Column int64 `json:"column"`
	Shard  int   `json:"shard"`
	// Slices are how many of k the block multiplied: all, or what it had of a tile that several share; 0: it did not say.
	Slices int   `json:"slices,omitempty"`
	Wait   int64 `json:"wait"`
	Begin  int64 `json:"begin"`
	End    int64 `json:"end"`
}

// Copy is a chunk on its way from a rank to this one: of its rows of A, which are its shard, or of its products for
// the shard of this one.
type Copy struct {
	Shard int   `json:"shard"`
	From  int   `json:"from"`
	Chunk int   `json:"chunk"`
	Bytes int64 `json:"bytes"`
	Begin int64 `json:"begin"`
	End   int64 `json:"end"`
}

// Check says what about a timeline cannot be, or returns nil: a picture of such times
// would show what never happened.
func (t Timeline) Check() error {
	for _, r := range t.Ranks {
		if r.Met <= 0 {
			return fmt.Errorf("drawing a timeline: rank %d did not say when it left the barrier", r.Rank)
		}
		for _, tile := range r.Tiles {
			if tile.Wait > tile.Begin || tile.Begin > tile.End {
				return fmt.Errorf("drawing a timeline: on rank %d, tile %d waits from %d ns, begins at %d and ends at %d",
					r.Rank, tile.Number, tile.Wait, tile.Begin, tile.End)
			}
		}
		for _, c := range r.Copies {
			if c.Begin > c.End {
				return fmt.Errorf("drawing a timeline: on rank %d, chunk %d from rank %d begins at %d ns and ends at %d",
					r.Rank, c.Chunk, c.From, c.Begin, c.End)
			}
		}
	}
	return nil
}

// inOrder are the tiles by block and time.
func (r Rank) inOrder() []Tile {
	return slices.SortedFunc(slices.Values(r.Tiles), func(a, b Tile) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Wait, b.Wait), cmp.Compare(a.Number, b.Number))
	})
}
