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

// Registers are the first elements of a register file: of each register the lanes, the affine value and the form.
type Registers struct {
	Lanes   *Lanes
	Affines *AffineValue
	Forms   *Form
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

// Step is an instruction with its operands, for [Run]. It is all data: Run calls code by its address.
type Step struct {
	code       uintptr // for registers whose lanes are up to date; 0 if there is none
	affine     uintptr // for affine registers; 0 if there is none
	d, a, b, c uint32  // registers by number
	more       [3]uint32
	_          uint32
	bias       uint64 // of an access: added to a
}

// Step makes one for registers by number.
func (i Instruction) Step(d, a, b, c int32) Step {
	return Step{code: i.code, d: uint32(d), a: uint32(a), b: uint32(b), c: uint32(c)}
}

// Step makes one for registers by number.
func (i Split) Step(low, high, a int32) Step {
	return Step{code: i.code, d: uint32(low), a: uint32(a), more: [3]uint32{uint32(high)}}
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

// Step makes one: the address is register a plus bias. Register 0 is affine for ever.
func (m Access) Step(a int32, bias uint64, registers []int32) Step {
	s := Step{affine: m.code, d: uint32(registers[0]), a: uint32(a), bias: bias}
	for i, r := range registers[1:] {
		s.more[i] = uint32(r)
	}
	return s
}
