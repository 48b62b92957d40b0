// Package simd computes all 32 lanes of a warp's register at once, with AVX2.
//
// Each function does what a loop over lanes in cudart/sim/exec does, bit for bit, and those loops stay: they
// are the reference that tests compare with, and what other processors run. [Available] says whether this
// processor can call the functions. The arithmetic is generated: see the folder generate. Run executes many
// instructions in one call; run_amd64.s says what it hands to the code of each.
//
// A lane has 64 bits, and a narrower value is zero-extended; so are the results. Any two operands may be the
// same register. NaNs are as on a GPU: operations on floats of up to 32 bits give the one NaN of their type, those
// on doubles pass the NaN of an operand on, and conversions from bfloat16 keep its bits.
package simd

//go:generate go run ./generate

// Lanes is a register: a value for each lane of a warp.
type Lanes [32]uint64

// ALU computes d from up to three registers, for all lanes.
type ALU func(d, a, b, c *Lanes)

// Compare computes the mask of the lanes for which a relation holds.
type Compare func(a, b *Lanes) (mask uint32)

// Split makes two registers of one. Run can execute it.
type Split struct {
	Call func(low, high, a *Lanes)
	code uintptr
}

// Comparison is a Compare that Run can execute.
type Comparison struct {
	Call Compare
	code uintptr
}

// Choice makes a register of two, by a mask. Run can execute it.
type Choice struct {
	Call func(d, a, b *Lanes, mask uint32)
	code uintptr
}

// Instruction is an ALU that [Run] can execute among others.
type Instruction struct {
	Call ALU
	code uintptr
}
