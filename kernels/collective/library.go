package collective

import (
	"fmt"

	"gpurun/cudart"
)

// Library is one rank's side of an external library of collectives, such as NCCL. gpurun measures
// it for comparison with its own kernels, and uses it between machines.
type Library interface {
	// Supports returns an error if the library lacks the collective for a type and an operation.
	Supports(collective string, d DType, op Op) error
	// Enqueue puts a collective on the stream. Buffers are laid out as the
	// collective's Shape says.
	Enqueue(s cudart.Stream, job LibraryCall) error
}

// LibraryCall is a [Call] with the addresses of its buffers.
type LibraryCall struct {
	Collective string
	Send, Recv cudart.DevicePtr
	Count      int64 // elements of a part
	DType      DType
	Op         Op
	Root       int
}

// FromLibrary describes a library's collective as an algorithm with the library's name. If the
// collective reduces, the function has selects the types and operations. Otherwise the algorithm
// takes any type.
func FromLibrary(of string, shape Shape, library, summary string, ops func() []Op, has func(DType) bool) *Algorithm {
	a := &Algorithm{
		Collective: of,
		Name:       library,
		Summary:    summary,
		MaxRanks:   MaxRanks,
		Needs:      Needs{Library: library},
	}
	if !shape.Reduces {
		a.Kernels = []Kernel{{Any: true, Op: None}}
	}
	for _, d := range DTypes() {
		for _, op := range ops() {
			if shape.Reduces && has(d) {
				a.Kernels = append(a.Kernels, Kernel{DType: d, Op: op})
			}
		}
	}
	a.Enqueue = func(c *Comm, s cudart.Stream, call Call) error {
		if call.Count == 0 && !shape.Empty {
			return nil
		}
		l, err := c.library(a, call)
		if err != nil {
			return err
		}
		return l.Enqueue(s, LibraryCall{
			Collective: of, Send: c.Local(call.Send), Recv: c.Local(call.Recv),
			Count: call.Count, DType: call.DType, Op: call.Op, Root: call.Root,
		})
	}
	return a
}

// library returns the library that an algorithm needs, or an error if it cannot do the call.
func (c *Comm) library(a *Algorithm, call Call) (Library, error) {
	if err := c.Admit(a, call); err != nil {
		return nil, err
	}
	l, ok := c.cfg.Libraries[a.Needs.Library]
	if !ok {
		return nil, fmt.Errorf("%s %s cannot run: the library is not open", a.Collective, a.Name)
	}
	return l, l.Supports(a.Collective, call.DType, call.Op)
}
