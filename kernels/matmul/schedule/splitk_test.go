package schedule

import (
	"fmt"
	"testing"
)

// Every tile of the wave is made whole, each piece is ready when the rest of its tile is done, and pieces are as long
// as that allows.
func TestSplitK(t *testing.T) {
	shared := 0
	for clusters := int64(2); clusters <= 66; clusters += 8 {
		for tiles := int64(0); tiles < clusters; tiles++ {
			for _, slices := range []int64{1, 24, 40, 128, 256} {
				for _, stagger := range []int64{0, 3, 35, 90, 400} {
					l := LastWave{Tiles: tiles, Slices: slices, Stagger: stagger}
					if tiles > 0 {
						l.Idle = clusters - tiles
					}
					s := l.Split()
					if err := l.check(s); err != nil {
						t.Fatalf("%+v, shared as %+v: %v", l, s, err)
					}
					if s.Tiles > 0 {
						shared++
					}
				}
			}
		}
	}
	if shared < 1000 {
		t.Errorf("only %d waves are shared", shared)
	}
}

// check adds up what each cluster does.
func (l LastWave) check(s SplitK) error {
	took, others, slowest := make([]int64, l.Idle), make([]int64, l.Tiles), int64(0)
	for piece := range s.Pieces() {
		tile, cluster := piece%l.Tiles, piece%l.Idle
		others[tile] += s.length(tile)
		took[cluster] += s.length(tile) + pieceCost
		switch {
		case s.length(tile) < leastPiece:
			return fmt.Errorf("a piece of tile %d has %d slices", tile, s.length(tile))
		case s.length(tile) > s.Length:
			return fmt.Errorf("a piece of tile %d is longer than the first", tile)
		case took[cluster] > l.Slices-s.Ways*s.length(tile):
			return fmt.Errorf("piece %d is ready after %d slices, later than the rest of its tile", piece, took[cluster])
		}
	}
	for _, of := range others {
		if of >= l.Slices {
			return fmt.Errorf("others make %d slices of %d", of, l.Slices)
		}
		left := l.Slices - of
		if of > 0 {
			left += s.Ways * helpedCost
		}
		slowest = max(slowest, left)
	}
	if l.Time() != slowest {
		return fmt.Errorf("the wave takes %d slices, not %d as Time says", slowest, l.Time())
	}
	longer := []SplitK{l.withPieces(max(s.Ways, 1), s.Length+1)}
	if s.Tiles == 0 && l.Tiles > 0 {
		for ways := range min(max(l.Idle/l.Tiles, 1), mostWays) {
			longer = append(longer, l.withPieces(ways+1, leastPiece))
		}
	}
	for _, other := range longer {
		if other.Tiles > 0 && l.Idle > 0 && l.isInTime(other) {
			return fmt.Errorf("%d pieces of %d slices would be in time", other.Ways, other.Length)
		}
	}
	return nil
}
