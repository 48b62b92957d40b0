package schedule

import "sort"

// LastWave is the wave in which some clusters may have no tile, and what comes before it. Lengths are in slices of K.
type LastWave struct {
	Full   int64 // tiles of the full waves before it
	Tiles  int64 // of this wave
	Idle   int64 // clusters that have none of these, and can multiply pieces
	Slices int64 // of a tile
	// Stagger is how many slices earlier the first tile should be done than the last one, because the links need that
	// long for what all tiles send.
	Stagger int64
}

// SplitK is how idle clusters share the tiles of the last wave: see splitk.cuh.
type SplitK struct {
	Tiles  int64 // the first so many tiles of the wave are shared
	Ways   int64 // pieces of each that others multiply
	Length int64 // slices of a piece of the first tile
	Step   int64 // by how much pieces of each next tile are shorter, in units of 2^-16 slices
}

// Costs in slices, as measured on an H200 (kernels/NOTES.md).
const (
	pieceCost  = 8  // to begin a piece and to store its sums
	helpedCost = 12 // of a tile, for each of its pieces: it shares less in the cache
	leastPiece = 16 // shorter pieces are slower than none
	mostWays   = 3  // more pieces of a tile are slower than fewer
)

// Split makes as many pieces as there are clusters for, or fewer if these would be too short. They are as long as they
// can be without the cluster of the tile waiting for them, according to the costs.
func (l LastWave) Split() SplitK {
	if l.Idle == 0 {
		return SplitK{}
	}
	for ways := min(max(l.Idle/l.Tiles, 1), mostWays); ways > 0; ways-- {
		tooLong := sort.Search(int(l.Slices/(ways+1)),
			func(i int) bool { return !l.isInTime(l.withPieces(ways, int64(i)+1)) })
		if s := l.withPieces(ways, int64(tooLong)); s.Tiles > 0 {
			return s
		}
	}
	return SplitK{}
}

// withPieces shares the tiles in pieces of a length. With one way, pieces get shorter from tile to tile, so that tiles
// are done one after the other, and only as many tiles are shared as pay.
func (l LastWave) withPieces(ways, length int64) SplitK {
	switch {
	case length < leastPiece:
		return SplitK{}
	case ways > 1 || l.Stagger == 0: // a shorter piece of one way would make no tile ready sooner
		return SplitK{Tiles: l.Tiles, Ways: ways, Length: length}
	}
	worth := (length-leastPiece)*l.Tiles/l.Stagger + 1
	return SplitK{Tiles: min(worth, l.Tiles), Ways: 1, Length: length, Step: l.Stagger << 16 / l.Tiles}
}

// length is the number of slices of each piece of a tile, as in tile_scheduler.cuh.
func (s SplitK) length(tile int64) int64 { return s.Length - tile*s.Step>>16 }

// Pieces is the number of pieces.
func (s SplitK) Pieces() int64 { return s.Tiles * s.Ways }

// isInTime reports whether pieces, which a cluster makes one after the other, are ready when the rest of their tile is
// done. It looks at those of the first cluster, which has the longest ones.
func (l LastWave) isInTime(s SplitK) bool {
	took := int64(0)
	for piece := int64(0); piece < s.Pieces(); piece += l.Idle {
		length := s.length(piece % l.Tiles)
		took += length + pieceCost
		if took > l.Slices-s.Ways*length {
			return false
		}
	}
	return true
}

// Time is how long the wave takes until its last tile is done, in slices.
func (l LastWave) Time() int64 {
	switch s := l.Split(); {
	case l.Tiles == 0:
		return 0
	case s.Tiles < l.Tiles:
		return l.Slices
	default:
		return l.Slices - s.Ways*(s.length(l.Tiles-1)-helpedCost)
	}
}
