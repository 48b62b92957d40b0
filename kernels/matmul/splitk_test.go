package matmul

import (
	"fmt"
	"testing"
)

// Pieces are shared out so that every tile of the round is whole, each piece has been made when the rest of its tile is done, and
// they are as long as that allows.
func TestSplitK(t *testing.T) {
	shared := 0
	for clusters := int64(2); clusters <= 66; clusters += 8 {
		for tiles := int64(0); tiles < clusters; tiles++ {
			for _, slices := range []int64{1, 24, 40, 128, 256} {
				for _, stagger := range []int64{0, 3, 35, 90, 400} {
					l := lastRound{tiles: tiles, slices: slices, stagger: stagger}
					if tiles > 0 {
						l.idle = clusters - tiles
					}
					s := l.split()
					if err := l.check(s); err != nil {
						t.Fatalf("%+v, shared as %+v: %v", l, s, err)
					}
					if s.tiles > 0 {
						shared++
					}
				}
			}
		}
	}
	if shared < 1000 {
		t.Errorf("only %d rounds are shared", shared)
	}
}

// check goes through what clusters do.
func (l lastRound) check(s splitK) error {
	took, others, slowest := make([]int64, l.idle), make([]int64, l.tiles), int64(0)
	for piece := range s.pieces() {
		tile, cluster := piece%l.tiles, piece%l.idle
		others[tile] += s.length(tile)
		took[cluster] += s.length(tile) + pieceCost
		switch {
		case s.length(tile) < leastPiece:
			return fmt.Errorf("a piece of tile %d has %d slices", tile, s.length(tile))
		case s.length(tile) > s.longest:
			return fmt.Errorf("a piece of tile %d is longer than the first", tile)
		case took[cluster] > l.slices-s.ways*s.length(tile):
			return fmt.Errorf("piece %d is there after %d slices, when the rest of its tile has been waiting", piece, took[cluster])
		}
	}
	for _, of := range others {
		if of >= l.slices {
			return fmt.Errorf("others make %d slices of %d", of, l.slices)
		}
		left := l.slices - of
		if of > 0 {
			left += s.ways * helpedCost
		}
		slowest = max(slowest, left)
	}
	if l.takes() != slowest {
		return fmt.Errorf("it takes %d slices, and is said to take %d", slowest, l.takes())
	}
	longer := l.pieces(s.ways, s.longest+1)
	if s.tiles == 0 && l.tiles > 0 {
		longer = l.pieces(min(max(l.idle/l.tiles, 1), mostWays), leastPiece)
	}
	if longer.tiles > 0 && l.idle > 0 && l.isInTime(longer) {
		return fmt.Errorf("pieces of %d slices would be in time", longer.longest)
	}
	return nil
}

// How the problems that are measured are shared on an H200, whose links need some slices for the sums of a round, and one that
// conformance multiplies, whose second tile has a shorter piece.
func TestLastRound(t *testing.T) {
	for _, c := range []struct {
		columns     wgmma
		m, n, k     int64
		shards, sms int
		gathers     bool
		peers       int
		want        splitK
	}{
		{224, 8192, 3584, 8192, 2, 132, false, 0, splitK{50, 1, 19, 0}},  // of 50 tiles, with 16 clusters
		{256, 4096, 6656, 16384, 2, 132, false, 0, splitK{20, 2, 82, 0}}, // of 20, with 46
		{224, 4096, 3584, 8192, 2, 132, false, 0, splitK{}},              // of 58, with 8: too short
		{224, 4096, 3584, 8192, 2, 132, false, 1, splitK{24, 1, 29, 36157}},
		{256, 8192, 8192, 8192, 2, 132, false, 1, splitK{34, 1, 48, 36623}},
		{224, 1024, 6656, 16384, 2, 132, false, 0, splitK{54, 1, 36, 0}},
		{224, 1024, 6656, 16384, 2, 132, true, 0, splitK{}}, // those who would help wait for the peer's shard first
		{256, 4096, 6656, 16384, 2, 132, true, 0, splitK{20, 2, 82, 0}},
		{128, 700, 100, 4600, 5, 6, false, 4, splitK{2, 1, 19, 65536}},
	} {
		p := Problem{M: c.m, N: c.n, K: c.k, DType: DTypes()[0]}
		w := work{Problem: p, shards: c.shards, gathers: c.gathers, peers: c.peers}
		if got := c.columns.lastRound(w, c.sms).split(); got != c.want {
			t.Errorf("%s by tiles of %d columns, %d peers: %+v, want %+v", p, c.columns, c.peers, got, c.want)
		}
	}
}
