package collective

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart"
)

// Algorithm describes one way to run a collective: data for the command
// line's lists, the tests and the planner, and a function that enqueues it.
type Algorithm struct {
	Collective string
	Name       string
	Summary    string // half a line
	DTypes     []DType
	Ops        []Op
	MinSM      int // least compute capability, 10*major+minor
	MaxRanks   int

	// Source is the kernel's file, relative to kernels/.
	Source string
	// Entries are the entry points in each of the algorithm's modules.
	Entries []string

	// ScratchBytes is the symmetric scratch a call may use, for calls of up
	// to bytes bytes.
	ScratchBytes func(world int, bytes int64) int64
	// Enqueue puts one call on the stream. It neither waits nor allocates
	// device memory, so that the stream can be captured.
	Enqueue func(c *Comm, s cudart.Stream, call Call) error
}

// Call is one invocation of a collective.
type Call struct {
	Send, Recv int64 // bytes from the base of symmetric memory
	Count      int64 // elements
	DType      DType
	Op         Op
}

// Bytes is the size of the input.
func (c Call) Bytes() int64 { return c.Count * int64(c.DType.Size) }

// Module is the name under which kernels/ptx holds the algorithm's PTX for an
// element type.
func (a *Algorithm) Module(d DType) string {
	return fmt.Sprintf("%s_%s_%s", a.Collective, a.Name, d.Name)
}

// Check says why the algorithm cannot do what is asked, or returns nil.
func (a *Algorithm) Check(d DType, op Op, world int) error {
	has := func(x DType) bool { return x.Name == d.Name }
	switch {
	case !slices.ContainsFunc(a.DTypes, has):
		return fmt.Errorf("%s %s has no kernel for %s; it has %s", a.Collective, a.Name, d.Name, a.dtypeNames())
	case !slices.Contains(a.Ops, op):
		return fmt.Errorf("%s %s cannot reduce by %s", a.Collective, a.Name, op)
	case world > a.MaxRanks:
		return fmt.Errorf("%s %s runs on up to %d ranks, not %d", a.Collective, a.Name, a.MaxRanks, world)
	}
	return nil
}

func (a *Algorithm) dtypeNames() string {
	names := make([]string, len(a.DTypes))
	for i, d := range a.DTypes {
		names[i] = d.Name
	}
	return strings.Join(names, ", ")
}

// Collective is an operation among ranks, with the algorithms that do it.
type Collective struct {
	Name       string
	Aliases    []string // other accepted spellings
	Summary    string
	Algorithms []*Algorithm
	// BusFactor turns algorithm bandwidth into bus bandwidth, which does not
	// depend on the number of ranks: nccl-tests' PERFORMANCE.md.
	BusFactor func(world int) float64
	// Choose picks the algorithm for a call when the user leaves it open.
	Choose func(world int, call Call) *Algorithm
}

// Algorithm finds an algorithm by name.
func (c *Collective) Algorithm(name string) (*Algorithm, bool) {
	for _, a := range c.Algorithms {
		if a.Name == name {
			return a, true
		}
	}
	return nil, false
}
