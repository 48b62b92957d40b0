package collective

import (
	"math"

	"gpurun/cudart"
)

// Custom describes what a kernel file computes that is none of gpurun's collectives. Its inputs and outputs are areas
// of the algorithm.
type Custom struct {
	// Buffers lists the inputs and outputs of a call of a rank.
	Buffers func(c *Comm, call Call) ([]CustomBuffer, error)
	// Next is the number of the next call of a rank, counted from 0 on.
	Next func(c *Comm) int64
	// Expect returns what the outputs of this rank must hold behind the call of a number, in the order of Buffers; nil
	// for an input. inputs makes the input of any rank, by its place among the Buffers.
	Expect func(c *Comm, s cudart.Stream, call Call, number int64,
		inputs func(buffer, rank int) ([]byte, error)) ([][]byte, error)
	// Tolerance is how far the outputs of floats of a call may be from what Expect returns.
	Tolerance func(c *Comm, call Call) (Tolerance, error)
}

// Tolerance bounds the error of a float by Absolute + Relative * |expected|. Its zero value compares bit by bit.
type Tolerance struct{ Relative, Absolute float64 }

// Allows is the largest error for an expected value.
func (t Tolerance) Allows(expected float64) float64 {
	return t.Absolute + t.Relative*math.Abs(expected)
}

// CustomBuffer is an input or an output.
type CustomBuffer struct {
	Name   string
	Output bool
	DType  DType
	Bytes  int64 // of this call
	// Copies are where the copies begin that calls use in turn, in bytes from the base of symmetric memory. There is at
	// least one. Turn is the number of the copy that the next call uses, when the buffers are listed.
	Copies []int64
	Turn   int
	// Fixed makes the content of an input of any rank; nil: gpurun's own inputs.
	Fixed func(rank int) ([]byte, error)
}

// Offset is where the copy of the next call begins, in bytes from the base of symmetric memory.
func (b *CustomBuffer) Offset() int64 { return b.Copies[b.Turn] }

// Rotates reports whether calls use several copies in turn.
func (b *CustomBuffer) Rotates() bool { return len(b.Copies) > 1 }
