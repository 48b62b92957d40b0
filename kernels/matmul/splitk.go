package matmul

import (
	"errors"
	"fmt"
	"sort"

	"gpurun/cudart"
)

// lastRound is that of the rounds in which clusters multiply tiles, where some have none.
type lastRound struct {
	whole, tiles int64 // of the rounds before it, and its own
	idle         int64 // clusters that have none, and can make pieces
	slices       int64 // of k
	// stagger is by how many slices the first tile had better be done before the last one, because the links take a
	// while for what all tiles send.
	stagger int64
}

// splitK is how those clusters share the tiles: see splitk.cuh.
type splitK struct {
	tiles, ways int64 // so many, from the first one on, are divided, into as many pieces for others each
	longest     int64 // slices of a piece of the first tile
	falls       int64 // by how many slices those of each next one are shorter, of 2^16
}

// What it costs, in slices, to begin a piece and to leave its sums, and to have pieces of a tile made elsewhere, which then
// shares less with others in the cache: on an H200, see NOTES.md. Pieces shorter than leastPiece do not pay, nor do more than
// mostWays of a tile.
const (
	pieceCost  = 8
	helpedCost = 12
	leastPiece = 16
	mostWays   = 3
)

// split makes pieces as long as they can be, as far as costs tell, without being waited for.
func (l lastRound) split() splitK {
	if l.idle == 0 {
		return splitK{}
	}
	ways := min(max(l.idle/l.tiles, 1), mostWays)
	tooLong := sort.Search(int(l.slices/(ways+1)), func(i int) bool { return !l.isInTime(l.pieces(ways, int64(i)+1)) })
	return l.pieces(ways, int64(tooLong))
}

// pieces are those of a length that falls from tile to tile as they are to be done, as far as that pays.
func (l lastRound) pieces(ways, longest int64) splitK {
	switch {
	case longest < leastPiece:
		return splitK{}
	case ways > 1 || l.stagger == 0: // to make one way shorter would make no tile ready sooner
		return splitK{tiles: l.tiles, ways: ways, longest: longest}
	}
	worth := (longest-leastPiece)*l.tiles/l.stagger + 1
	return splitK{tiles: min(worth, l.tiles), ways: 1, longest: longest, falls: l.stagger << 16 / l.tiles}
}

// length is how many slices each piece of a tile has, as Rounds in rounds.cuh has it.
func (s splitK) length(tile int64) int64 { return s.longest - tile*s.falls>>16 }

// pieces is how many there are.
func (s splitK) pieces() int64 { return s.tiles * s.ways }

// isInTime reports whether pieces, which clusters make one after the other, are there when the rest of their tile is done:
// those of the first cluster, which has the longest ones.
func (l lastRound) isInTime(s splitK) bool {
	took := int64(0)
	for piece := int64(0); piece < s.pieces(); piece += l.idle {
		length := s.length(piece % l.tiles)
		took += length + pieceCost
		if took > l.slices-s.ways*length {
			return false
		}
	}
	return true
}

// takes is how long the round takes until its last tile is done, in slices.
func (l lastRound) takes() int64 {
	switch s := l.split(); {
	case l.tiles == 0:
		return 0
	case s.tiles < l.tiles:
		return l.slices
	default:
		return l.slices - s.ways*(s.length(l.tiles-1)-helpedCost)
	}
}

// split has a kernel share the tiles of its last round, and gives it memory for the sums of pieces.
func (r *Runner) split(p *Params, l lastRound) error {
	s := l.split()
	p.Whole, p.Last = int32(l.whole), int32(l.tiles)
	p.Pieces, p.Longest, p.Falls = int32(s.pieces()), int32(s.longest), uint32(s.falls)
	if s.tiles == 0 {
		return nil
	}
	if err := r.preparePartials(); err != nil {
		return err
	}
	p.Partials, p.PartialsThere = uint64(r.partials), uint64(r.partialsThere)
	return nil
}

// preparePartials makes device memory for the sums of all pieces that there can be at a time, and for the words of the warps
// that leave them, which are zero: when it is first asked for. It goes with the device.
func (r *Runner) preparePartials() error {
	if r.partials != 0 {
		return nil
	}
	const sumsOfPiece, wordsOfPiece = 4 * wgmmaRows * wgmmaMostColumns, 4 * wgmmaParts * wgmmaPartWarps
	pieces := r.mostPieces()
	at, err := r.Device.Malloc(pieces * (sumsOfPiece + wordsOfPiece))
	if err != nil {
		return fmt.Errorf("allocating room for the sums of %d pieces of tiles: %w", pieces, err)
	}
	there := at + cudart.DevicePtr(pieces*sumsOfPiece)
	if err := r.Main.Fill(there, 0, pieces*wordsOfPiece); err != nil {
		return errors.Join(fmt.Errorf("clearing words of pieces of tiles: %w", err), r.Device.Free(at))
	}
	r.partials, r.partialsThere = at, there
	return nil
}

// mostPieces is more than there can be: each is of another tile of a round, or another cluster's.
func (r *Runner) mostPieces() int64 { return clustersOn(r.SMs) }
