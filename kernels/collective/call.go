package collective

import "fmt"

// Call is one invocation of a collective.
type Call struct {
	Send, Recv int64 // this rank's buffers: bytes from the base of symmetric memory
	// InPlace: the input and the output share a buffer, as Shape.InPlace says. Kernels of gpurun's own need not know.
	InPlace bool
	// SendStep is the distance, in bytes, from a rank's Send to the Send of the next rank. It
	// is 0 except in place in an allgather or a gather, where rank r's input is part r.
	SendStep int64
	// Count is the number of elements of a part. A part is what a rank sends to, or receives
	// from, one peer. It may be the whole buffer; see Shape.
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

// Parts is the number of parts, of Call.Count elements each, in a buffer.
type Parts int

// The kinds of buffers.
const (
	OnePart     Parts = iota
	PartPerRank       // part r is for, or from, rank r
)

// Of returns the number of parts for a number of ranks.
func (p Parts) Of(world int) int64 {
	if p == PartPerRank {
		return int64(world)
	}
	return 1
}

// Root is the role of a collective's root.
type Root int

// The kinds of roots.
const (
	NoRoot            Root = iota // all ranks have an input and an output
	RootIsSource                  // the root alone has an input
	RootIsDestination             // the root alone has an output
)

// Shape says what a collective moves.
type Shape struct {
	Send, Recv Parts
	Reduces    bool // by an Op; all others have Op None
	Root       Root
	Empty      bool // it moves nothing
}

// Sends reports whether a rank has an input.
func (s Shape) Sends(rank, root int) bool { return s.Root != RootIsSource || rank == root }

// Receives reports whether a rank has an output.
func (s Shape) Receives(rank, root int) bool { return s.Root != RootIsDestination || rank == root }

// InPlace returns where the input and the output begin when they share a buffer, in parts from
// its beginning, and the distance in parts from a rank's input to that of the next rank. It is
// false if the collective cannot run in place.
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

// checkEpilogue returns an error if the epilogue cannot be applied to the call.
func (c Call) checkEpilogue() error {
	e := c.Epilogue
	row := e.Row * int64(c.DType.Size)
	switch {
	case !e.Kind.ByRow():
		return nil
	case row <= 0 || row%vecBytes != 0:
		return fmt.Errorf("epilogue %s: a row of %d elements is not a multiple of %d bytes", e.Kind, e.Row, vecBytes)
	case row > maxBiasBytes:
		return fmt.Errorf("epilogue %s: a row of %d bytes is longer than %d", e.Kind, row, int64(maxBiasBytes))
	case (e.Weight|e.Residual|e.ResidualOut)%vecBytes != 0:
		return fmt.Errorf("epilogue %s: weight and residual must be aligned to %d bytes", e.Kind, vecBytes)
	case e.Kind != RMSNorm:
		return nil
	case row > MaxRowBytes:
		return fmt.Errorf("epilogue %s: a row of %d bytes is longer than %d", e.Kind, row, MaxRowBytes)
	case c.Count%e.Row != 0:
		return fmt.Errorf("epilogue %s: %d elements are no whole number of rows of %d", e.Kind, c.Count, e.Row)
	case (c.Send|c.Recv)%vecBytes != 0:
		return fmt.Errorf("epilogue %s: the buffers must be aligned to %d bytes", e.Kind, vecBytes)
	}
	return nil
}
