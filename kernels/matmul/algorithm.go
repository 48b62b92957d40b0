package matmul

import (
	"fmt"
	"strings"

	"gpurun/kernels/collective"
)

// Algorithm describes one way to do an operation: data for the command line's lists,
// the tests and the planner, and functions that prepare and enqueue it.
type Algorithm struct {
	Operation string
	Name      string
	Summary   string // half a line
	// Kernels are the algorithm's own entry points. GEMM lists the kernels for a product that it launches separately;
	// nil: it launches none.
	Kernels  []collective.Kernel
	GEMM     func() []*GEMM
	MaxRanks int
	// Peers: it accesses the peers' matrices, and not only scratch.
	Peers bool
	// Chunked: it copies shards in Call.Splits chunks.
	Chunked bool
	// CopiesAfterKernel: it enqueues copies after a kernel that waits for them. Where launches block the host, it hangs
	// until the kernel's wait expires.
	CopiesAfterKernel bool
	// Library names the foreign library of the algorithm; empty: gpurun's own kernels. The algorithm may need another
	// library to multiply: see Libraries.
	Library string
	// Unbounded: its kernels wait for peers without a bound of their own. The rank supervises them.
	Unbounded bool
	// File is the path of the kernel file that the algorithm is from; empty: it is gpurun's own, or a library's.
	File string
	// Multicast: it uses a multicast address. GPU: its code is a binary, which the simulator cannot run.
	Multicast, GPU bool
	// BeginsEarly: of a kernel file, whose first kernel has programmatic dependent launch.
	BeginsEarly bool
	// Stepwise: every partial sum of products is rounded to the element type.
	Stepwise bool
	// NoCommunication: it only multiplies, and so is a bound for algorithms that communicate. Of an operation that
	// gathers, AFull is an input, and C the result. Of one that reduces, the result is this rank's own product, all rows
	// of it, in the staging.
	NoCommunication bool
	// Can returns why the algorithm does not support a problem of its operation, and what does. Nil: it supports all.
	Can func(p Problem, world int) error
	// Scratch is the number of bytes of the communicator's scratch that a call uses. Staging is the number of bytes of
	// symmetric memory in which it stages products. Counters is the number of 32-bit words with which it counts
	// products. Nil: none. All algorithms share the words, which are zero before the first call.
	Scratch, Staging, Counters func(p Problem, world int) int64
	// Areas lists the algorithm's own memory for a problem, on devices with so many multiprocessors; nil: there is none.
	// The list is the same for all problems, with other sizes.
	Areas func(p Problem, world, sms int) ([]collective.Area, error)
	// Restored lists areas, by number, that each call leaves as they were before the first. Initial makes what such an
	// area holds, from byte at on, in dst. It leaves dst as it is where the area may hold anything.
	Restored []int
	Initial  func(r *Runner, call Call, area int, dst []byte, at int64) error
	// Tiles is the number of tiles whose times the kernel records when Call.Trace is not 0; nil: it records none. Pieces
	// of split-K have numbers after those of tiles.
	Tiles func(p Problem, world int) int64
	// Prepare prepares calls with these buffers: it loads their kernels and encodes tensor maps. It may wait.
	Prepare func(r *Runner, call Call) error
	// Enqueue puts one call on the runner's main stream: it begins when earlier work there has ended, and ends before
	// later work begins; no peer then reads or writes this rank's buffers. It neither waits nor allocates device memory.
	// Calls are never captured in graphs.
	Enqueue func(r *Runner, call Call) error
	// RecordSteps is Enqueue behind a barrier of all ranks, and times the steps of the call from that on. nil: the
	// algorithm has Tiles, or no timeline.
	RecordSteps func(r *Runner, call Call, to *collective.StepRecorder) error
}

// Check says why the algorithm cannot do a problem on any device, and what can, or
// returns nil.
func (a *Algorithm) Check(p Problem, world int) error {
	switch {
	case world > a.MaxRanks:
		return fmt.Errorf("%s %s runs on up to %d ranks, not %d", a.Operation, a.Name, a.MaxRanks, world)
	case a.Library == "" && a.MinSM(p.DType) == 0:
		return fmt.Errorf("%s %s cannot multiply %s; it can %s", a.Operation, a.Name, p.DType.Name,
			strings.Join(a.typeNames(), " and "))
	case a.Can == nil:
		return nil
	}
	switch err := a.Can(p, world); {
	case a.File != "": // the error names the file
		return err
	case err != nil:
		return fmt.Errorf("%s %s: %w", a.Operation, a.Name, err)
	}
	return nil
}

// HasTimeline reports whether a call can be recorded: its tiles and copies, or its steps.
func (a *Algorithm) HasTimeline() bool { return a.Tiles != nil || a.RecordSteps != nil }

// typeNames lists the names of the element types for which there is a kernel.
func (a *Algorithm) typeNames() []string {
	var names []string
	for _, d := range DTypes() {
		if a.MinSM(d) > 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// MinSM is the least compute capability, 10*major+minor, that has a kernel for a
// type, or 0 if none has.
func (a *Algorithm) MinSM(d collective.DType) int {
	kernels := a.Kernels
	if a.GEMM != nil {
		for _, g := range a.GEMM() {
			kernels = append(kernels, g.Kernels...)
		}
	}
	least := 0
	for _, k := range kernels {
		if k.DType.Name == d.Name && (least == 0 || k.Module.Arch.SM < least) {
			least = k.Module.Arch.SM
		}
	}
	return least
}

// RunsOn reports whether one of the algorithm's own kernels for a type runs on a compute capability. Code for one
// architecture alone, such as sm_90a, does not run on later ones.
func (a *Algorithm) RunsOn(d collective.DType, sm int) bool {
	_, ok := find(a.Kernels, d, sm)
	return ok
}

// Compatible reports whether devices of two compute capabilities can make calls together. Kernels that send products
// tile by tile must cut the result into the same tiles, and so be the same kernel.
func (a *Algorithm) Compatible(d collective.DType, sm, other int) bool {
	if a.Counters == nil {
		return true
	}
	one, _ := find(a.Kernels, d, sm)
	two, _ := find(a.Kernels, d, other)
	return one.Module.Name == two.Module.Name
}

// Prepare loads what a call of the algorithm launches, and prepares what it reads. To load a module the driver may
// wait for running kernels, and GPCs waits for the main stream. Those may wait for a peer: so all ranks of one process
// prepare before any of them enqueues.
func (r *Runner) Prepare(a *Algorithm, call Call) error {
	return a.Prepare(r, call)
}

// Enqueue puts a call on the main stream.
func (r *Runner) Enqueue(a *Algorithm, call Call) error {
	return a.Enqueue(r, call)
}
