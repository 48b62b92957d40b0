package foreign

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// arguments are those of one call, in a library's own numbers for types and operations.
type arguments[DataType, RedOp any] struct {
	send, recv cudart.DevicePtr
	count      int64 // elements of a part
	dtype      DataType
	op         RedOp
	root       int
	stream     uintptr // a CUstream
}

// collectives describes the collectives of a library: a function for each, by gpurun's
// name of the collective, and the library's numbers for types and operations. Library is
// what the functions are called on.
type collectives[Library, DataType, RedOp any] struct {
	calls map[string]func(Library, arguments[DataType, RedOp]) error
	types map[string]DataType
	ops   map[collective.Op]RedOp
}

// enqueue puts a collective on the stream of the CUDA driver.
func (c *collectives[L, D, O]) enqueue(l L, title string, s cudart.Stream, j collective.LibraryCall) error {
	call, ok := c.calls[j.Collective]
	if !ok {
		return noCollective(title, j.Collective)
	}
	stream, err := handleOf(s)
	if err != nil {
		return err
	}
	return call(l, arguments[D, O]{j.Send, j.Recv, j.Count, c.types[j.DType.Name], c.ops[j.Op], j.Root, stream})
}

// supports asks the library for a reduction; elements that are only moved may have any type.
func (c *collectives[L, D, O]) supports(title, of string, d collective.DType, op collective.Op,
	reduces func(D, O) error,
) error {
	if _, ok := c.calls[of]; !ok {
		return noCollective(title, of)
	}
	if op == collective.None {
		return nil
	}
	return reduces(c.types[d.Name], c.ops[op])
}

// handleOf is the CUstream that a library enqueues on.
func handleOf(s cudart.Stream) (uintptr, error) {
	h, ok := s.(interface{ Handle() uintptr })
	if !ok {
		return 0, fmt.Errorf("a %T is no stream of the CUDA driver", s)
	}
	return h.Handle(), nil
}

func noCollective(library, name string) error {
	return fmt.Errorf("%s has no collective for %s", library, name)
}
