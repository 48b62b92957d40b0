package exec

import (
	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/simd"
)

// lanes is a register: a value for each lane of a warp.
type lanes = simd.Lanes

const fullMask = 0xffffffff

// alu computes a register from up to three others, lane by lane. It runs for
// all lanes whatever the mask, so it must not fail on any input.
type alu = simd.ALU

// compare computes a predicate from two registers.
type compare = simd.Compare

// opKind says which function of an op to call.
type opKind uint8

const (
	opALU       opKind = iota // alu
	opCompare                 // cmp writes predicate p
	opPredicate               // logic on predicates
	opRun                     // run
	opBranch                  // to target
	opControl                 // control
)

// op is one compiled instruction. Registers and predicates are indices into
// the warp's files.
type op struct {
	// What every step looks at comes first, in one line of the cache.
	kind        opKind
	takesAffine bool // run reads and writes affine registers itself
	warpSync    bool // it is bar.warp.sync
	affine      affineRule
	test        affineTest // what cmp does with affine sources
	guard       int32      // predicate, or -1
	flip        uint32
	d           int32
	a, b, c     int32
	p, q        int32 // predicates written or read; -1 for none
	target      int32
	runEnd      int32 // of the run of ops by assembly that it is in; 0 if it is in none
	logic       logic // of opPredicate
	alu         alu
	cmp         compare
	run         func(w *warp, o *op, mask uint32) error

	step    func(o *op) simd.Step // makes what executes the op in a run; nil if assembly does not
	control func(w *warp, o *op, mask uint32) (verdict, error)
	meeting *meeting // of lanes that exchange values
	mem     *access
	inst    *ptx.Inst
	table   []int  // targets of an indexed branch
	reduce  string // of bar.red: "popc", "and" or "or"

	names []int32 // the registers that the op names, those that it reads first
	reads int     // how many of them it reads
}

// verdict is what becomes of the running path after a control instruction.
type verdict uint8

const (
	proceed   verdict = iota // go on with the next instruction
	suspended                // the path was put aside; its lanes do not go on now
	finished                 // its lanes have exited
	yielded                  // go on with the next instruction at the warp's next turn
	retried                  // execute the same instruction again then
)

// constant identifies a register that a warp finds filled: an immediate, an
// address, or a special register.
type constant struct {
	value   uint64
	image   bool   // value is an offset in the module's variables
	code    bool   // value is an offset among the module's functions
	shared  bool   // value is an offset in the block's shared memory
	frame   bool   // value is an offset in the frame of the function
	special string // such as "%tid.x"; "_" is a register that is never read
}

// preset is a constant in its place in the register file.
type preset struct {
	constant
	slot    int32
	perLane func(w *warp, lane int) uint64 // nil where all lanes get the same value
}
