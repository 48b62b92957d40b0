package collective

import "gpurun/cudart"

// Custom describes what a kernel file computes that is none of gpurun's collectives. Its inputs and outputs are areas
// of the algorithm.
type Custom struct {
	// Buffers lists the inputs and outputs of a call of a rank.
	Buffers func(c *Comm, call Call) ([]CustomBuffer, error)
	// Expect returns what the outputs of this rank must hold, in the order of Buffers; nil for an input. inputs makes
	// the input of any rank, by its place among the Buffers.
	Expect func(c *Comm, s cudart.Stream, call Call, inputs func(buffer, rank int) ([]byte, error)) ([][]byte, error)
	// Tolerance is the largest relative error of an output of floats; 0: to the bit.
	Tolerance func(c *Comm, call Call) (float64, error)
}

// CustomBuffer is an input or an output.
type CustomBuffer struct {
	Name   string
	Area   int // among those of the algorithm
	Output bool
	DType  DType
	Bytes  int64 // of this call
	// Fixed makes the content of an input of any rank; nil: gpurun's own inputs.
	Fixed func(rank int) ([]byte, error)
}
