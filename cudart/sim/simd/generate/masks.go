package main

import "fmt"

func comparisons() []function {
	var all []function
	for _, r := range []struct {
		name, words, code string
		not, swap         bool
	}{
		{"EQ", "is equal to", "EQ", false, false},
		{"NE", "differs from", "EQ", true, false},
		{"LT", "is less than", "GT", false, true},
		{"LE", "is at most", "GT", true, false},
		{"GT", "is greater than", "GT", false, false},
		{"GE", "is at least", "GT", true, true},
	} {
		for _, t := range []struct{ name, words string }{
			{"S32", "signed 32-bit"}, {"S64", "signed 64-bit"}, {"U64", "unsigned 64-bit"},
		} {
			if r.code == "EQ" && t.name != "U64" {
				continue // equality does not depend on sign and width
			}
			all = append(all, compareIntegers(r.name+t.name,
				fmt.Sprintf("says in which lanes a %s b, as %s integers.", r.words, t.words), t.name, r.code, r.not, r.swap))
		}
	}
	for _, r := range []struct {
		name, words string
		predicate   int // of VCMPPS
	}{
		{"EQ", "is equal to", 0x00},
		{"NE", "is less or greater than", 0x0c},
		{"LT", "is less than", 0x11},
		{"LE", "is at most", 0x12},
		{"GT", "is greater than", 0x1e},
		{"GE", "is at least", 0x1d},
		{"NUM", "is a number and so is", 0x07},
		{"EQU", "is equal or unordered to", 0x08},
		{"NEU", "differs from", 0x04},
		{"LTU", "is less than or unordered to", 0x19},
		{"LEU", "is at most or unordered to", 0x1a},
		{"GTU", "is greater than or unordered to", 0x16},
		{"GEU", "is at least or unordered to", 0x15},
		{"NAN", "is unordered to", 0x03},
	} {
		all = append(all,
			function{
				name: r.name + "F32", doc: "says in which lanes a " + r.words + " b, as singles.", kind: compare,
				step: append([]string{
					"VMOVDQU {a}, Y0", fmt.Sprintf("VCMPPS $%#x, {b}, Y0, Y0", r.predicate), "VPSLLQ $32, Y0, Y0",
				}, collect...),
			},
			function{
				name: r.name + "F64", doc: "says in which lanes a " + r.words + " b, as doubles.", kind: compare,
				step: append([]string{
					"VMOVDQU {a}, Y0", fmt.Sprintf("VCMPPD $%#x, {b}, Y0, Y0", r.predicate),
				}, collect...),
			})
	}
	return all
}

// collect moves the highest bits of the lanes in Y0 to the mask.
var collect = []string{"VMOVMSKPD Y0, R8", "SHLL ${i}, R8", "ORL R8, AX"}

// compareIntegers compares as signed 64-bit integers, to which the lanes are brought: 32-bit ones by a shift to the
// upper half, unsigned ones by flipping the highest bit.
func compareIntegers(name, doc, t, code string, not, swap bool) function {
	f := function{name: name, doc: doc, kind: compare, step: []string{"VMOVDQU {a}, Y0", "VMOVDQU {b}, Y1"}}
	switch {
	case t == "S32":
		f.step = append(f.step, "VPSLLQ $32, Y0, Y0", "VPSLLQ $32, Y1, Y1")
	case t == "U64" && code == "GT":
		f.before = []string{use("sign64", 15)}
		f.step = append(f.step, "VPXOR Y15, Y0, Y0", "VPXOR Y15, Y1, Y1")
	}
	order := "Y1, Y0" // Go's assembler names the right-hand side first
	if swap {
		order = "Y0, Y1"
	}
	f.step = append(f.step, fmt.Sprintf("VPCMP%sQ %s, Y0", code, order))
	f.step = append(f.step, collect...)
	if not {
		f.after = []string{"NOTL AX"}
	}
	return f
}

// moves are copies between registers and memory at adjacent addresses.
func moves() []function {
	return []function{
		{name: "Choose", doc: "is a in the lanes of mask, and b in the others.", kind: choose, before: []string{
			"VMOVD CX, X14", "VPBROADCASTQ X14, Y14", use("bit0", 15),
		}, step: []string{
			"VPAND Y15, Y14, Y2", "VPCMPEQQ Y15, Y2, Y2", "VPSLLQ $4, Y15, Y15",
			"VMOVDQU {b}, Y0", "VBLENDVPD Y2, {a}, Y0, Y0", "VMOVDQU Y0, {d}",
		}},
		{name: "Affine", doc: "makes lane i base + i*stride.", kind: affine, before: []string{
			"VMOVQ AX, X0", "VPBROADCASTQ X0, Y0", "LEAQ (BX)(BX*2), CX", "VMOVQ BX, X1", "VPSLLDQ $8, X1, X1", // [0, stride]
			"VMOVQ CX, X2", "LEAQ (BX)(BX*1), DX", "VMOVQ DX, X3", "VPUNPCKLQDQ X2, X3, X3", // [2*stride, 3*stride]
			"VINSERTI128 $1, X3, Y1, Y1", "VPADDQ Y1, Y0, Y0", "SHLQ $2, BX", "VMOVQ BX, X2", "VPBROADCASTQ X2, Y2",
		}, step: []string{"VMOVDQU Y0, {d}", "VPADDQ Y2, Y0, Y0"}},
		{
			name: "Load2x32", doc: "loads two 32-bit words for each lane from 256 bytes at p.", kind: move2,
			before: []string{use("low32", 15)}, step: []string{
				"VMOVDQU {p*8+0}, Y0", "VPAND Y15, Y0, Y1", "VMOVDQU Y1, {a}", "VPSRLQ $32, Y0, Y0", "VMOVDQU Y0, {b}",
			},
		},
		{
			name: "Store2x32", doc: "stores two 32-bit words of each lane to 256 bytes at p, each lane's at once.", kind: move2,
			before: []string{use("low32", 15)}, step: []string{
				"VPAND {a}, Y15, Y0", "VMOVDQU {b}, Y1", "VPSLLQ $32, Y1, Y1", "VPOR Y1, Y0, Y0", "VMOVDQU Y0, {p*8+0}",
			},
		},
		{
			name: "Load64", doc: "loads a 64-bit word for each lane from 256 bytes at p.", kind: move1,
			step: []string{"VMOVDQU {p*8+0}, Y0", "VMOVDQU Y0, {a}"},
		},
		{
			name: "Store64", doc: "stores a 64-bit word of each lane to 256 bytes at p.", kind: move1,
			step: []string{"VMOVDQU {a}, Y0", "VMOVDQU Y0, {p*8+0}"},
		},
		{
			name: "Load32", doc: "loads a 32-bit word for each lane from 128 bytes at p.", kind: move1,
			step: []string{"VPMOVZXDQ {p*4+0}, Y0", "VMOVDQU Y0, {a}"},
		},
		{name: "Store32", doc: "stores the low 32 bits of each lane to 128 bytes at p.", kind: move1, step: []string{
			"VMOVDQU {a}, Y0", "VEXTRACTI128 $1, Y0, X1", "VSHUFPS $0x88, X1, X0, X0", "VMOVDQU X0, {p*4+0}",
		}},
		{
			name: "Load16", doc: "loads a 16-bit word for each lane from 64 bytes at p.", kind: move1,
			step: []string{"VPMOVZXWQ {p*2+0}, Y0", "VMOVDQU Y0, {a}"},
		},
		{
			name: "Load8", doc: "loads a byte for each lane from 32 bytes at p.", kind: move1,
			step: []string{"VPMOVZXBQ {p*1+0}, Y0", "VMOVDQU Y0, {a}"},
		},
	}
}
