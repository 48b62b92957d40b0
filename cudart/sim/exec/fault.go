package exec

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/sim/ptx"
)

// FaultKind is why a grid was stopped.
type FaultKind uint8

// The kinds of faults.
const (
	IllegalAddress FaultKind = iota
	MisalignedAddress
	IllegalInstruction // an operand that the instruction does not allow
	Trap
	Deadlock
	StackOverflow
	AssertionFailed
)

var faultNames = [...]string{
	"illegal address", "misaligned address", "illegal instruction", "trap", "deadlock", "stack overflow",
	"assertion failed",
}

func (k FaultKind) String() string { return faultNames[k] }

// Fault stops a grid. It is an error of the kernel, not of the executor.
type Fault struct {
	Kind   FaultKind
	Module string
	Kernel string
	Block  int // in the grid
	Thread int // in the block
	// The sizes of grid and block, by which Block and Thread have up to three dimensions.
	GridDim, BlockDim cudart.Dim3

	Line   int    // in the module's PTX
	Text   string // the instruction
	Reason string
	// Function is the device function that the thread was in, or "".
	Function string
	// Site is the instruction, and Memory the access that a fault of an address is about.
	Site   Site
	Memory *FaultyAccess
	// Source is the line of the source that the PTX was made of, such as "kernel.cu:12", or "".
	Source string
}

// FaultyAccess is an access to memory that a thread cannot make.
type FaultyAccess struct {
	Address, Bytes, Alignment uint64
	Place                     Place // without its site
}

func (f *Fault) Error() string {
	in, source := "kernel "+f.Kernel, ""
	if f.Function != "" {
		in = fmt.Sprintf("function %s of kernel %s", f.Function, f.Kernel)
	}
	if f.Source != "" {
		source = " (" + f.Source + ")"
	}
	return fmt.Sprintf("%s: %s in %s, block %s, thread %s, at %s:%d%s: %q",
		f.Kind, f.Reason, in, coordinates(f.GridDim, f.Block), coordinates(f.BlockDim, f.Thread), f.Module, f.Line, source,
		f.Text)
}

// coordinates is a number, or of more dimensions the coordinates (x,y,z).
func coordinates(in cudart.Dim3, number int) string {
	if in.Flat() {
		return fmt.Sprint(number)
	}
	at := in.At(number)
	return fmt.Sprintf("(%d,%d,%d)", at.X, at.Y, at.Z)
}

// fault describes what a lane did at the current instruction.
func (w *warp) fault(kind FaultKind, lane int, format string, args ...any) error {
	return w.faultAt(w.grid.kernel.code[w.current.pc].inst, kind, lane, format, args...)
}

// faultAt describes what a lane did at an instruction.
func (w *warp) faultAt(in *ptx.Inst, kind FaultKind, lane int, format string, args ...any) error {
	fn, source := w.grid.kernel.origin(w.current.pc, in)
	return &Fault{
		Kind: kind, Module: w.grid.kernel.module, Kernel: w.grid.kernel.Name,
		Block: w.block.index, Thread: w.thread(lane), GridDim: w.grid.gridDim, BlockDim: w.grid.blockDim,
		Line: in.Line, Text: in.Source(), Reason: fmt.Sprintf(format, args...),
		Function: fn, Source: source, Site: Site{w.grid.kernel, w.current.pc},
	}
}

// accessFault is fault for an access to n bytes.
func (w *warp) accessFault(kind FaultKind, lane int, addr, n, alignment uint64, format string, args ...any) error {
	err := w.fault(kind, lane, format, args...)
	if f, ok := err.(*Fault); ok {
		f.Memory = &FaultyAccess{Address: addr, Bytes: n, Alignment: alignment, Place: w.block.place(w.index)}
	}
	return err
}
