package trace

import "slices"

// pieceTiles is how many tiles fit into a message.
const pieceTiles = 2048

// Report sends a rank's timeline in pieces.
func Report(r Rank, send func(piece *Rank) error) error {
	for _, piece := range r.Pieces(pieceTiles) {
		if err := send(&piece); err != nil {
			return err
		}
	}
	return nil
}

// Pieces cuts a rank's timeline into pieces of at most that many tiles, and as many copies and
// steps, so that each fits into a message of bounded size. [Timeline.Add] joins them.
func (r Rank) Pieces(most int) []Rank {
	var all []Rank
	tiles, copies := slices.Collect(slices.Chunk(r.Tiles, most)), slices.Collect(slices.Chunk(r.Copies, most))
	steps := slices.Collect(slices.Chunk(r.Steps, most))
	for i := range max(len(tiles), len(copies), len(steps), 1) {
		piece := Rank{Rank: r.Rank, Device: r.Device, Met: r.Met}
		if i < len(tiles) {
			piece.Tiles = tiles[i]
		}
		if i < len(copies) {
			piece.Copies = copies[i]
		}
		if i < len(steps) {
			piece.Steps = steps[i]
		}
		all = append(all, piece)
	}
	return all
}

// Add adds a piece of a rank's timeline. Ranks stay sorted.
func (t *Timeline) Add(piece Rank) {
	at, found := slices.BinarySearchFunc(t.Ranks, piece.Rank, func(r Rank, rank int) int { return r.Rank - rank })
	if !found {
		t.Ranks = slices.Insert(t.Ranks, at, piece)
		return
	}
	r := &t.Ranks[at]
	r.Tiles, r.Copies = append(r.Tiles, piece.Tiles...), append(r.Copies, piece.Copies...)
	r.Steps = append(r.Steps, piece.Steps...)
}
