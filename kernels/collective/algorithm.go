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
	// Kernels are the entry points that do the calls. Others are auxiliary entry points, such
	// as a barrier between copies.
	Kernels  []Kernel
	Others   []Kernel
	MaxRanks int
	Needs    Needs
	// MaxRow returns the most bytes of a row with the epilogue RMSNorm. nil: MaxRowBytes.
	MaxRow func(world int) int64
	// Blocks is the largest grid that is of use, and Threads the largest block. 0: no limit.
	Blocks, Threads int
	// ScratchBytes returns the bytes of symmetric scratch that a call may use, for parts of
	// up to so many bytes. nil: none.
	ScratchBytes func(world int, bytes int64) int64
	// File is the kernel file that describes the algorithm; empty: it is one of gpurun's own, or a library's.
	File string
	// Areas lists the memory that the algorithm keeps from call to call, as large as a call needs it: as many areas, in
	// the same order, for every call. nil: none.
	Areas func(world, sms int, call Call) ([]Area, error)
	// Accepts returns an error for a call that the algorithm does not take, where there is more to say than Kernels do.
	Accepts func(world int, call Call) error
	// Multiple returns what the counts of calls of a type and operation must be multiples of. nil: any count will do.
	Multiple func(world int, call Call) int64
	// BeginsEarly: of a kernel file, whose first kernel has programmatic dependent launch. A call may be made again right
	// behind itself, with the same buffers.
	BeginsEarly bool
	// Accumulator is the type of the sums, where it is not the default, and Stepwise allows every partial result to be
	// rounded: see reference.Input.
	Accumulator *DType
	Stepwise    bool
	Ordered     bool // sums of floats match bit for bit in the order of the ranks
	Chain       bool // they match in the order of a chain: see reference.Input
	// Restored lists the areas that must hold their initial values after each call, by their places among the Areas.
	// Initial makes these values from a byte of an area on, in dst. It leaves dst as it is where the area may hold
	// anything.
	Restored []int
	Initial  func(c *Comm, call Call, area int, dst []byte, at int64) error
	// Custom says what the algorithm computes, where that is no collective of gpurun's; nil: the Collective does.
	Custom *Custom
	// Prepare loads and initializes what calls of a kind need; nil: the kernels of Kernels. After it, and before the
	// first call, the ranks meet if there are Areas.
	Prepare func(c *Comm, s cudart.Stream, call Call) error
	// Enqueue puts one call on the stream. It neither waits nor allocates
	// device memory, so that the stream can be captured.
	Enqueue func(c *Comm, s cudart.Stream, call Call) error
	// Record is Enqueue behind a barrier of all ranks, and times the steps of the call from that on. nil: the algorithm
	// has no steps that could be told apart.
	Record func(c *Comm, s cudart.Stream, call Call, to *StepRecorder) error
}

// Needs says which kinds of symmetric memory an algorithm uses.
type Needs struct {
	// Peers: kernels or copies access the peers' inputs or outputs, or the memory of all ranks
	// by a multicast address. An algorithm without Peers accesses only the peers' scratch,
	// packets, mailboxes and signal pads.
	Peers     bool
	Packets   bool // room for packets
	Mailboxes bool // room for mailboxes
	Multicast bool // a multicast address
	// Overlap: it is fast only where copies from the peers' memory overlap with kernels.
	Overlap bool
	// Library names the [Library] that does the calls; empty is gpurun's own
	// kernels.
	Library string
	// Unbounded: its kernels wait for peers without a bound of their own. The rank supervises them.
	Unbounded bool
	// SeparateOutput: it does not run in place. OneBuffer: it runs only in place.
	SeparateOutput, OneBuffer bool
	// FreshArguments: arguments change from call to call, so that no graph can replay it.
	FreshArguments bool
	// GPU: its code is for GPUs alone, and the simulator cannot run it.
	GPU bool
}

// AcrossMachines reports whether ranks may be on several machines: those of a library's algorithm may,
// unless it accesses the peers' memory.
func (a *Algorithm) AcrossMachines() bool { return a.Needs.Library != "" && !a.Needs.Peers }

// Find picks the kernel for a call on devices of a compute capability: of the kernels for the
// latest architecture, it prefers the one specialized for the world size.
func (a *Algorithm) Find(d DType, op Op, e EpilogueKind, world, sm int) (best Kernel, ok bool) {
	better := func(k Kernel) bool {
		if !ok || k.Module.Arch != best.Module.Arch {
			return !ok || k.Module.Arch.SM > best.Module.Arch.SM
		}
		return k.World > best.World
	}
	for _, k := range a.Kernels {
		if k.fits(d, op, e, world) && k.Module.Arch.RunsOn(sm) && better(k) {
			best, ok = k, true
		}
	}
	return best, ok
}

// AddsInOrder reports whether results of floats match bit for bit in the order of the ranks: those of gpurun's own
// kernels do, unless the switch or a chain has an order of its own.
func (a *Algorithm) AddsInOrder() bool {
	return a.Ordered || a.File == "" && a.Needs.Library == "" && !a.Needs.Multicast && !a.Chain
}

// Supports reports whether the algorithm has a kernel for a type, operation and
// epilogue on some architecture.
func (a *Algorithm) Supports(d DType, op Op, e EpilogueKind) bool {
	return slices.ContainsFunc(a.Kernels, func(k Kernel) bool { return k.fits(d, op, e, k.World) })
}

// MinSM is the least compute capability that has a kernel for a type, operation
// and epilogue, or 0 if none has.
func (a *Algorithm) MinSM(d DType, op Op, e EpilogueKind) int {
	least := 0
	for _, k := range a.Kernels {
		if k.fits(d, op, e, k.World) && (least == 0 || k.Module.Arch.SM < least) {
			least = k.Module.Arch.SM
		}
	}
	return least
}

// HasPDL reports whether some kernel for a call can be launched early.
func (a *Algorithm) HasPDL(call Call) bool {
	return slices.ContainsFunc(a.Kernels, func(k Kernel) bool {
		return k.fits(call.DType, call.Op, call.Epilogue.Kind, k.World) && k.Module.Arch.PDL()
	})
}

// DTypes lists the element types that the algorithm has a kernel for.
func (a *Algorithm) DTypes() []DType {
	return slices.DeleteFunc(DTypes(), func(d DType) bool {
		return !slices.ContainsFunc(a.Ops(), func(op Op) bool { return a.Supports(d, op, NoEpilogue) })
	})
}

// Ops lists the operations that the algorithm has a kernel for, for some type.
func (a *Algorithm) Ops() []Op {
	return slices.DeleteFunc(append(Ops(), None), func(op Op) bool {
		return !slices.ContainsFunc(a.Kernels, func(k Kernel) bool { return k.Op == op })
	})
}

// Check returns an error if the algorithm cannot do a call. The error says why, and which
// calls the algorithm can do.
func (a *Algorithm) Check(call Call, world int) error {
	name := a.Collective + " " + a.Name
	switch e := call.Epilogue.Kind; {
	case world > a.MaxRanks:
		return fmt.Errorf("%s runs on up to %d ranks, not %d", name, a.MaxRanks, world)
	case !a.Supports(call.DType, call.Op, e) && e != NoEpilogue:
		return fmt.Errorf("%s has no epilogue %s for %s of %s; %s", name, e, call.Op, call.DType.Name, a.epilogues())
	case !a.Supports(call.DType, call.Op, e):
		return fmt.Errorf("%s cannot do %s of %s; %s", name, call.Op, call.DType.Name, a.can(call))
	}
	if a.Accepts != nil {
		if err := a.Accepts(world, call); err != nil {
			return err
		}
	}
	return a.checkEpilogue(call, world)
}

// checkEpilogue is the part of Check that depends on more than the kernel.
func (a *Algorithm) checkEpilogue(call Call, world int) error {
	row := call.Epilogue.Row * int64(call.DType.Size)
	if call.Epilogue.Kind == RMSNorm && a.MaxRow != nil && row > a.MaxRow(world) {
		return fmt.Errorf("%s %s normalizes rows of up to %d bytes among %d ranks, not %d; twoshot takes up to %d",
			a.Collective, a.Name, a.MaxRow(world), world, row, int64(MaxRowBytes))
	}
	return call.checkEpilogue()
}

// can lists, for an error, the operations for the call's type and the types for its operation.
func (a *Algorithm) can(call Call) string {
	var ops, types []string
	for _, op := range Ops() {
		if a.Supports(call.DType, op, NoEpilogue) {
			ops = append(ops, string(op))
		}
	}
	for _, d := range DTypes() {
		if a.Supports(d, call.Op, NoEpilogue) {
			types = append(types, d.Name)
		}
	}
	list := func(words []string) string {
		if len(words) == 0 {
			return "nothing"
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("of %s it does %s; it does %s of %s", call.DType.Name, list(ops), call.Op, list(types))
}

func (a *Algorithm) epilogues() string {
	var words []string
	for _, e := range EpilogueKinds() {
		for _, d := range EpilogueDTypes() {
			if a.Supports(d, Sum, e) {
				words = append(words, fmt.Sprintf("%s of %s", e, d.Name))
			}
		}
	}
	if len(words) == 0 {
		return "it has none at all"
	}
	return "it has, for sum, " + strings.Join(words, ", ")
}

// Collective is an operation among ranks, with the algorithms that do it.
type Collective struct {
	Name    string
	Aliases []string // other accepted spellings
	Summary string
	Shape   Shape
	// Algorithms lists the naive one first, if there is one.
	Algorithms []*Algorithm
	// BusFactor turns algorithm bandwidth into bus bandwidth, which does not
	// depend on the number of ranks: nccl-tests' PERFORMANCE.md.
	BusFactor func(world int) float64
	// Choose estimates the best algorithm for a call that no tuning table has a rule for. The
	// algorithm needs no multicast and runs on GPUs of every supported architecture.
	Choose func(world int, call Call) string
}

// BesideOwnPart is the BusFactor (n-1)/n, of collectives whose buffer has one part for each of
// n ranks and whose own part crosses no link.
func BesideOwnPart(world int) float64 { return float64(world-1) / float64(world) }

// Algorithm finds an algorithm by name.
func (c *Collective) Algorithm(name string) (*Algorithm, bool) {
	for _, a := range c.Algorithms {
		if a.Name == name {
			return a, true
		}
	}
	return nil, false
}
