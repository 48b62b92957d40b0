package simd

import "unsafe"

// Form says where the value of a register is.
type Form = uint8

// The bits of a Form. Without any of them the value is in the lanes alone.
const (
	FormAffine Form = 1 << iota // the value is affine, in its Affine
	FormStale                   // only there: the lanes are not up to date
	FormLanes                   // never affine
)

// AffineValue is that of a register whose lane i holds Base + i*Stride.
type AffineValue struct{ Base, Stride uint64 }

// Registers is what [Run] works on: the first elements of a register file, which are the lanes, the affine value and
// the form of each register; the first predicate; and the first region of memory, or nil.
type Registers struct {
	Lanes      *Lanes
	Affines    *AffineValue
	Forms      *Form
	Predicates *uint32
	Regions    *Region
	Stored     bool // set when something is stored
}

// Region is memory at a range of addresses.
type Region struct {
	Base, Size uint64
	Memory     unsafe.Pointer // of Size bytes, aligned to at least 16
	_          [3]uintptr
}

// RegionShift and RegionCount: the region of an address is found at (address >> RegionShift) % RegionCount.
const (
	RegionShift = 40
	RegionCount = 64
)

// Step is an instruction with its operands, for Run. It is all data: Run calls code by its address.
type Step struct {
	code       uintptr   // for registers whose lanes are up to date; 0 if there is none
	affine     uintptr   // for affine registers; 0 if there is none
	d, a, b, c uint32    // registers by number; register 0 is affine, and never written
	more       [3]uint32 // registers, predicates and masks
	keep       Form      // what stays of d's form when the code for lanes writes it
	bias       uint64    // of an access: added to a
}

// Step makes one for registers by number.
func (i Instruction) Step(d, a, b, c int32) Step {
	return Step{code: i.code, d: uint32(d), a: uint32(a), b: uint32(b), c: uint32(c), keep: FormLanes}
}

// Step makes one for registers by number.
func (i Split) Step(low, high, a int32) Step {
	return Step{code: i.code, d: uint32(low), a: uint32(a), more: [3]uint32{uint32(high)}, keep: FormLanes}
}

// Relation says which order of two values satisfies a comparison.
type Relation uint32

// The bits of a Relation.
const (
	Less Relation = 1 << iota
	Equal
	Greater
)

// Step makes one that writes predicate p. The relation is for affine values.
func (i Comparison) Step(p, a, b int32, r Relation) Step {
	return Step{code: i.code, a: uint32(a), b: uint32(b), more: [3]uint32{uint32(p), uint32(r)}, keep: ^Form(0)}
}

// Step makes one that chooses by predicate p, in which the bits of flip are inverted.
func (i Choice) Step(d, a, b, p int32, flip uint32) Step {
	return Step{code: i.code, d: uint32(d), a: uint32(a), b: uint32(b), more: [3]uint32{uint32(p), flip}, keep: FormLanes}
}

// WithAffine adds what the step does when all its sources are affine.
func (s Step) WithAffine(code AffineCode) Step {
	s.affine = code.code
	return s
}

// AffineCode computes an affine value of affine ones.
type AffineCode struct{ code uintptr }

// Access loads or stores up to four registers for each lane, at adjacent addresses.
type Access struct{ code uintptr }

// Step makes one: the address is register a plus bias.
func (m Access) Step(a int32, bias uint64, registers []int32) Step {
	s := Step{affine: m.code, d: uint32(registers[0]), a: uint32(a), bias: bias}
	for i, r := range registers[1:] {
		s.more[i] = uint32(r)
	}
	return s
}

// Logic combines two predicates.
type Logic struct{ code uintptr }

// Step makes one that writes predicate d. Bits of the operands are inverted.
func (l Logic) Step(d, a, b int32, flipA, flipB uint32) Step {
	return Step{affine: l.code, more: [3]uint32{uint32(d), uint32(a), uint32(b)}, bias: uint64(flipB)<<32 | uint64(flipA)}
}
