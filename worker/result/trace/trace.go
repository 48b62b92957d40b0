// Package trace writes timelines of products that overlap with communication, and of calls of
// kernel files, as Chrome trace events, for chrome://tracing and Perfetto.
//
// Each rank is a process of the trace. For a product its threads are the streams of copies, with
// a slice for each chunk, and the blocks of the kernel, with a slice for each tile and one for
// each wait before it. For a kernel file it has one thread, with a slice for each step. The
// format is that of the document "Trace Event Format": complete events (ph X) and metadata
// (ph M), times in microseconds.
//
// Recording costs the timed calls nothing: a timeline is of one more call, made after them.
//
// Every GPU has a clock of its own. Each rank's times therefore count from when it left a
// barrier of all ranks. Ranks leave a barrier within a few microseconds, which is the
// accuracy of their alignment.
package trace

import (
	"cmp"
	"fmt"
	"slices"
)

// Timeline is one call on all ranks.
type Timeline struct {
	Title string // of the call: operation, algorithm, shape
	Ranks []Rank
}

// Rank is one rank's part of the timeline. Times are nanoseconds of its GPU's clock.
type Rank struct {
	Rank   int    `json:"rank"`
	Device string `json:"device"`
	// Met is when the rank left the barrier before the call. It is 0 for Steps, which count from there.
	Met    int64  `json:"met"`
	Tiles  []Tile `json:"tiles"`
	Copies []Copy `json:"copies"`
	Steps  []Step `json:"steps,omitempty"`
}

// Tile is a part of the result. The block began to wait for the tile's operands at Wait,
// had them at Begin, and had stored the tile at End. Shard is the rank that owns the
// tile's rows of A or C.
type Tile struct {
	Number int   `json:"number"`
	Block  int   `json:"block"`
	Row    int64 `json:"row"`
	Column int64 `json:"column"`
	Shard  int   `json:"shard"`
	// Slices is the number of slices of k that the block multiplied: fewer than all where
	// several blocks share a tile (split-K). 0: not recorded.
	Slices int   `json:"slices,omitempty"`
	Wait   int64 `json:"wait"`
	Begin  int64 `json:"begin"`
	End    int64 `json:"end"`
}

// Copy is the copy of a chunk from rank From to this rank: of the rows of A that From owns
// (Shard is From), or of From's products for the rows that this rank owns.
type Copy struct {
	Shard int   `json:"shard"`
	From  int   `json:"from"`
	Chunk int   `json:"chunk"`
	Bytes int64 `json:"bytes"`
	Begin int64 `json:"begin"`
	End   int64 `json:"end"`
}

// Check returns an error for a timeline with times that are missing or out of order.
func (t Timeline) Check() error {
	for _, r := range t.Ranks {
		if r.Met <= 0 && len(r.Steps) == 0 {
			return fmt.Errorf("drawing a timeline: rank %d did not report when it left the barrier", r.Rank)
		}
		if err := r.checkSteps(); err != nil {
			return err
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

// inOrder returns the tiles sorted by block and time.
func (r Rank) inOrder() []Tile {
	return slices.SortedFunc(slices.Values(r.Tiles), func(a, b Tile) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Wait, b.Wait), cmp.Compare(a.Number, b.Number))
	})
}
