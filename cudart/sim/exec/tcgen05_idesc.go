package exec

import (
	"fmt"

	"gpurun/cudart/sim/tensorcore"
)

// tensorKind is a .kind of tcgen05.mma.
type tensorKind struct {
	name    string
	types   map[uint32]tensorcore.Format // of A and B, by their number in the instruction descriptor; nil of integers
	k       int                          // elements of a row of A that one instruction multiplies
	perByte bool                         // 4-bit and 6-bit elements take a byte in tensor memory, and are padded in shared memory
	scales  []int                        // how many scale factors a row may have; nil without
	halfD   bool                         // D may be of .f16
}

var (
	formatsOfBytes = map[uint32]tensorcore.Format{
		0: tensorcore.E4M3, 1: tensorcore.E5M2, 3: tensorcore.E2M3, 4: tensorcore.E3M2, 5: tensorcore.E2M1,
	}
	packedFormats = map[uint32]tensorcore.Format{1: tensorcore.E2M1}
)

var tensorKinds = []tensorKind{
	{name: "f16", types: map[uint32]tensorcore.Format{0: tensorcore.Half, 1: tensorcore.BFloat16}, k: 16, halfD: true},
	{name: "tf32", types: map[uint32]tensorcore.Format{2: tensorcore.TF32}, k: 8},
	{name: "f8f6f4", types: formatsOfBytes, k: 32, perByte: true, halfD: true},
	{name: "i8", k: 32},
	{name: "mxf8f6f4", types: formatsOfBytes, k: 32, perByte: true, scales: []int{1}},
	{name: "mxf4", types: packedFormats, k: 64, scales: []int{2}},
	{name: "mxf4nvf4", types: packedFormats, k: 64, scales: []int{2, 4}},
}

// tensorDescriptor is a decoded instruction descriptor, PTX ISA section 9.7.16.4.2.
type tensorDescriptor struct {
	m, n         int
	typeA, typeB uint32 // their numbers
	saturate     bool
	halfD        bool
	negate       bool // of A and B one alone
	mnMajor      [2]bool
	maxShift     int // of columns of B
	// scaleID is the byte of the first scale factor in a word, of A and of B. They are UE4M3, or UE8M0.
	scaleID [2]int
	e4m3    bool
}

// decode decodes a descriptor, and says what is wrong with it, or "".
func (k *tensorKind) decode(bits uint32, blocks int, ws bool) (d tensorDescriptor, why string) {
	d = tensorDescriptor{
		m: int(bits >> 24 & 31 << 4), n: int(bits >> 17 & 63 << 3), typeA: bits >> 7 & 7, typeB: bits >> 10 & 7,
		negate: bits>>13&1 != bits>>14&1, mnMajor: [2]bool{bits>>15&1 != 0, bits>>16&1 != 0},
	}
	if bits>>2&1 != 0 {
		return d, "the instruction descriptor is of a sparse matrix, and the instruction is not tcgen05.mma.sp"
	}
	if k.scales != nil {
		if k.types[d.typeA&3] == tensorcore.E2M1 && k.k == 64 {
			d.typeA, d.typeB = d.typeA&3, d.typeB&3
		}
		d.scaleID, d.e4m3 = [2]int{int(bits >> 29 & 3), int(bits >> 4 & 3)}, bits>>23&1 == 0
		if bits>>31 != 0 {
			return d, "products of 96 elements are not implemented: sm_100a has none"
		}
		return d, k.check(&d, blocks, ws)
	}
	d.saturate, d.maxShift = bits>>3&1 != 0, [...]int{0, 8, 16, 32}[bits>>30]
	want := uint32(1) // f32
	if k.types == nil {
		want = 2 // s32
	}
	if format := bits >> 4 & 3; format == 0 && k.halfD {
		d.halfD = true
	} else if format != want {
		return d, fmt.Sprintf("D of type %d in the instruction descriptor does not go with .kind::%s", format, k.name)
	}
	return d, k.check(&d, blocks, ws)
}

// check says what is wrong with types and shape, or "".
func (k *tensorKind) check(d *tensorDescriptor, blocks int, ws bool) string {
	if k.types == nil {
		if d.typeA > 1 || d.typeB > 1 || d.negate {
			return "A and B of .kind::i8 are of type 0 or 1 in the instruction descriptor, and are not negated"
		}
	} else if _, ok := k.types[d.typeA]; !ok {
		return fmt.Sprintf("A of type %d in the instruction descriptor does not go with .kind::%s", d.typeA, k.name)
	} else if _, ok := k.types[d.typeB]; !ok {
		return fmt.Sprintf("B of type %d in the instruction descriptor does not go with .kind::%s", d.typeB, k.name)
	}
	if k.k == 64 && d.mnMajor != [2]bool{} {
		return fmt.Sprintf("matrices of .kind::%s cannot be transposed", k.name)
	}
	rows, step := d.m/blocks, 16
	switch {
	case ws && (rows == 32 || rows == 64 || rows == 128) && (d.n == 64 || d.n == 128 || d.n == 256):
		return ""
	case ws:
	case blocks == 1 && (rows == 64 || k.scales != nil):
		step = 8
	case blocks == 2 && k.types == nil:
		step = 32
	}
	if ws || rows != 128 && (rows != 64 || blocks == 1 && k.scales != nil) || d.n == 0 || d.n > 256 || d.n%step != 0 {
		return fmt.Sprintf("a shape of M = %d and N = %d in the instruction descriptor does not go with .kind::%s and "+
			".cta_group::%d%s", d.m, d.n, k.name, blocks, map[bool]string{true: " in .ws"}[ws])
	}
	return ""
}

// perChunk is how many elements 16 bytes of shared memory have: a row of A takes two chunks, whatever its type.
func (k *tensorKind) perChunk() int { return k.k / 2 }
