package collective

// Call is one invocation of a collective.
type Call struct {
	Send, Recv int64 // this rank's buffers: bytes from the base of symmetric memory
	// SendStep is by how much further the input of the next rank lies, in bytes.
	// It is 0 but for an allgather in place.
	SendStep int64
	// Count is the elements of a part: of what a rank gives to, or gets from,
	// each other, which may be the whole buffer; see Shape.
	Count    int64
	DType    DType
	Op       Op
	Root     int
	Epilogue Epilogue
	// Blocks is the grid to launch; 0 leaves it to the algorithm.
	Blocks int
}

// Bytes is the size of a part.
func (c Call) Bytes() int64 { return c.Count * int64(c.DType.Size) }

// Parts says how many parts of Call.Count elements a buffer holds.
type Parts int

// The kinds of buffers.
const (
	OnePart     Parts = iota
	PartPerRank       // part r is for, or from, rank r
)

// Of is the number of parts among so many ranks.
func (p Parts) Of(world int) int64 {
	if p == PartPerRank {
		return int64(world)
	}
	return 1
}

// Shape says what a collective moves.
type Shape struct {
	Send, Recv Parts
	Reduces    bool // by an Op; all others have Op None
	Rooted     bool // one rank is the source, or if it reduces, the destination
	Empty      bool // it moves nothing
}

// InPlace says where the input and the output begin when they share a buffer,
// in parts from its beginning, and by how many parts the input of the next rank
// lies further. It is false where that cannot be.
func (s Shape) InPlace(rank int) (send, recv, step int64, ok bool) {
	switch {
	case s.Empty, s.Send == PartPerRank && s.Recv == PartPerRank:
		return 0, 0, 0, false
	case s.Recv == PartPerRank:
		return int64(rank), 0, 1, true
	case s.Send == PartPerRank:
		return 0, int64(rank), 0, true
	}
	return 0, 0, 0, true
}
