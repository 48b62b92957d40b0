package main

import (
	"fmt"
	"slices"
)

// What the functions load once.
var constants = []constant{
	same("low32", 1<<32-1),
	same("low16", 1<<16-1),
	same("sign64", 1<<63),
	same("one", 1),
	same("nan16", 0x7fff),
	same("nan32", 0x7fffffff),
	same("packedNaN32", 0x7fffffff7fffffff),
	same("quiet64", 1<<51),
	{"bit0", [4]uint64{1, 2, 4, 8}},
	// Of each half: the low 16 bits of both lanes, next to each other.
	{"pickHalves", [4]uint64{0x8080808009080100, 0x8080808080808080, 0x8080808009080100, 0x8080808080808080}},
}

func use(name string, register int) string {
	return fmt.Sprintf("VMOVDQU %s<>(SB), Y%d", name, register)
}

func functions() []function {
	var all []function
	for _, group := range [][]function{integers(), floats(), conversions(), comparisons(), moves()} {
		all = append(all, group...)
	}
	return all
}

// binary is a function of two operands by one instruction, which takes the second from memory.
func binary(name, doc, instruction string) function {
	return function{name: name, doc: doc, kind: alu, step: []string{
		"VMOVDQU {a}, Y0", instruction + " {b}, Y0, Y0", "VMOVDQU Y0, {d}",
	}}
}

func integers() []function {
	return []function{
		binary("Add32", "adds 32-bit integers.", "VPADDD"),
		binary("Add64", "adds 64-bit integers.", "VPADDQ"),
		binary("Sub32", "subtracts 32-bit integers.", "VPSUBD"),
		binary("Sub64", "subtracts 64-bit integers.", "VPSUBQ"),
		binary("And", "is a & b.", "VPAND"),
		binary("Or", "is a | b.", "VPOR"),
		binary("Xor", "is a ^ b.", "VPXOR"),
		binary("MulWideU32", "multiplies unsigned 32-bit integers to 64 bits.", "VPMULUDQ"),
		binary("MulWideS32", "multiplies signed 32-bit integers to 64 bits.", "VPMULDQ"),
		binary("MinS32", "is the smaller of signed 32-bit integers.", "VPMINSD"),
		binary("MinU32", "is the smaller of unsigned 32-bit integers.", "VPMINUD"),
		binary("MaxS32", "is the larger of signed 32-bit integers.", "VPMAXSD"),
		binary("MaxU32", "is the larger of unsigned 32-bit integers.", "VPMAXUD"),
		binary("Shl32", "shifts 32-bit integers left; 32 and more places leave 0.", "VPSLLVD"),
		binary("Shl64", "shifts 64-bit integers left; 64 and more places leave 0.", "VPSLLVQ"),
		binary("ShrU32", "shifts unsigned 32-bit integers right; 32 and more places leave 0.", "VPSRLVD"),
		binary("ShrU64", "shifts unsigned 64-bit integers right; 64 and more places leave 0.", "VPSRLVQ"),
		binary("ShrS32", "shifts signed 32-bit integers right; 32 and more places leave the sign.", "VPSRAVD"),
		{
			name: "ShrS64", doc: "shifts signed 64-bit integers right; 64 and more places leave the sign.", kind: alu,
			before: []string{"VPXOR Y9, Y9, Y9"}, step: []string{
				"VMOVDQU {a}, Y0",
				"VPCMPGTQ Y0, Y9, Y1", "VPXOR Y1, Y0, Y0", // of a negative number, its complement is shifted
				"VPSRLVQ {b}, Y0, Y0", "VPXOR Y1, Y0, Y0", "VMOVDQU Y0, {d}",
			},
		},
		{
			name: "Not32", doc: "is ^a, of 32 bits.", kind: alu, before: []string{use("low32", 15)},
			step: []string{"VPXOR {a}, Y15, Y0", "VMOVDQU Y0, {d}"},
		},
		{
			name: "Not64", doc: "is ^a, of 64 bits.", kind: alu, before: []string{"VPCMPEQD Y15, Y15, Y15"},
			step: []string{"VPXOR {a}, Y15, Y0", "VMOVDQU Y0, {d}"},
		},
		{name: "Copy", doc: "is a.", kind: alu, step: []string{"VMOVDQU {a}, Y0", "VMOVDQU Y0, {d}"}},
		{
			name: "Low32", doc: "is the low 32 bits of a.", kind: alu, before: []string{use("low32", 15)},
			step: []string{"VPAND {a}, Y15, Y0", "VMOVDQU Y0, {d}"},
		},
		{
			name: "Low16", doc: "is the low 16 bits of a.", kind: alu, before: []string{use("low16", 15)},
			step: []string{"VPAND {a}, Y15, Y0", "VMOVDQU Y0, {d}"},
		},
		{name: "SignExtend32", doc: "extends signed 32-bit integers to 64 bits.", kind: alu, step: []string{
			"VMOVDQU {a}, Y0", "VPSRAD $31, Y0, Y1", "VPSLLQ $32, Y1, Y1", "VPSLLQ $32, Y0, Y0", "VPSRLQ $32, Y0, Y0",
			"VPOR Y1, Y0, Y0", "VMOVDQU Y0, {d}",
		}},
		{
			name: "MulLo32", doc: "multiplies 32-bit integers, modulo 2^32.", kind: alu, before: []string{use("low32", 15)},
			step: []string{
				"VMOVDQU {a}, Y0", "VPMULUDQ {b}, Y0, Y0", "VPAND Y15, Y0, Y0", "VMOVDQU Y0, {d}",
			},
		},
		{
			name: "MadLo32", doc: "is a*b+c of 32-bit integers, modulo 2^32.", kind: alu, before: []string{use("low32", 15)},
			step: []string{
				"VMOVDQU {a}, Y0", "VPMULUDQ {b}, Y0, Y0", "VPADDQ {c}, Y0, Y0", "VPAND Y15, Y0, Y0", "VMOVDQU Y0, {d}",
			},
		},
		{name: "MadWideU32", doc: "is a*b+c, with unsigned 32-bit factors and a 64-bit sum.", kind: alu, step: []string{
			"VMOVDQU {a}, Y0", "VPMULUDQ {b}, Y0, Y0", "VPADDQ {c}, Y0, Y0", "VMOVDQU Y0, {d}",
		}},
		{name: "MadWideS32", doc: "is a*b+c, with signed 32-bit factors and a 64-bit sum.", kind: alu, step: []string{
			"VMOVDQU {a}, Y0", "VPMULDQ {b}, Y0, Y0", "VPADDQ {c}, Y0, Y0", "VMOVDQU Y0, {d}",
		}},
		{
			name: "MulLo64", doc: "multiplies 64-bit integers, modulo 2^64.", kind: alu,
			step: append(product64(), "VMOVDQU Y0, {d}"),
		},
		{
			name: "MadLo64", doc: "is a*b+c of 64-bit integers, modulo 2^64.", kind: alu,
			step: append(product64(), "VPADDQ {c}, Y0, Y0", "VMOVDQU Y0, {d}"),
		},
		compared64("MinS64", "is the smaller of signed 64-bit integers.", false, false),
		compared64("MaxS64", "is the larger of signed 64-bit integers.", false, true),
		compared64("MinU64", "is the smaller of unsigned 64-bit integers.", true, false),
		compared64("MaxU64", "is the larger of unsigned 64-bit integers.", true, true),
	}
}

// product64 makes Y0 the low half of a*b, of three products of 32 bits.
func product64() []string {
	return []string{
		"VMOVDQU {a}, Y0", "VMOVDQU {b}, Y1",
		"VPSRLQ $32, Y0, Y2", "VPMULUDQ Y1, Y2, Y2", // high a, low b
		"VPSRLQ $32, Y1, Y3", "VPMULUDQ Y0, Y3, Y3", // low a, high b
		"VPADDQ Y2, Y3, Y3", "VPSLLQ $32, Y3, Y3",
		"VPMULUDQ Y1, Y0, Y0", "VPADDQ Y3, Y0, Y0",
	}
}

// compared64 picks one of two 64-bit integers. Unsigned ones are compared as signed ones with the highest bit flipped.
func compared64(name, doc string, unsigned, larger bool) function {
	f := function{name: name, doc: doc, kind: alu, step: []string{"VMOVDQU {a}, Y0", "VMOVDQU {b}, Y1"}}
	x, y := "Y0", "Y1"
	if unsigned {
		f.before = []string{use("sign64", 15)}
		f.step = append(f.step, "VPXOR Y15, Y0, Y2", "VPXOR Y15, Y1, Y3")
		x, y = "Y2", "Y3"
	}
	greater := fmt.Sprintf("VPCMPGTQ %s, %s, Y4", y, x) // a > b
	if larger {
		greater = fmt.Sprintf("VPCMPGTQ %s, %s, Y4", x, y)
	}
	f.step = append(f.step, greater, "VBLENDVPD Y4, Y1, Y0, Y0", "VMOVDQU Y0, {d}")
	return f
}

// Singles are in the low halves of lanes, whose high halves are 0: what is computed of those is 0 too.
func floats() []function {
	single := func(name, doc string, step ...string) function {
		step = append(step, "VCMPPS $3, Y0, Y0, Y1", "VBLENDVPS Y1, Y15, Y0, Y0", "VMOVDQU Y0, {d}")
		return function{name: name, doc: doc, kind: alu, before: []string{use("nan32", 15)}, step: step}
	}
	double := func(name, doc string, step ...string) function {
		return function{
			name: name, doc: doc, kind: alu, before: []string{use("quiet64", 15)}, step: append(step, "VMOVDQU Y0, {d}"),
		}
	}
	return []function{
		single("AddF32", "adds singles.", "VMOVDQU {a}, Y0", "VADDPS {b}, Y0, Y0"),
		single("SubF32", "subtracts singles.", "VMOVDQU {a}, Y0", "VSUBPS {b}, Y0, Y0"),
		single("MulF32", "multiplies singles.", "VMOVDQU {a}, Y0", "VMULPS {b}, Y0, Y0"),
		single("FmaF32", "is a*b+c of singles, rounded once.", "VMOVDQU {a}, Y0", "VMOVDQU {b}, Y1",
			"VFMADD213PS {c}, Y1, Y0"),
		single("SqrtF32", "is the square root of singles.", "VSQRTPS {a}, Y0"),
		single("DivF32", "divides singles.", "VMOVDQU {a}, Y0", "VDIVPS {b}, Y0, Y0"),
		single("MinF32", "is the smaller of singles, -0 below +0; of a NaN and a number, the number.",
			extreme("VMINPS", "VORPS")...),
		single("MaxF32", "is the larger of singles, -0 below +0; of a NaN and a number, the number.",
			extreme("VMAXPS", "VANDPS")...),
		double("AddF64", "adds doubles; of two NaNs, b is passed on.", "VMOVDQU {b}, Y0", "VADDPD {a}, Y0, Y0"),
		double("SubF64", "subtracts doubles; of two NaNs, b is passed on.", slices.Concat(
			[]string{"VMOVDQU {a}, Y0", "VSUBPD {b}, Y0, Y0"}, passOn("{b}"))...),
		double("MulF64", "multiplies doubles; of two NaNs, b is passed on.", "VMOVDQU {b}, Y0", "VMULPD {a}, Y0, Y0"),
		double("DivF64", "divides doubles; of two NaNs, a is passed on.", "VMOVDQU {a}, Y0", "VDIVPD {b}, Y0, Y0"),
		double("FmaF64", "is a*b+c of doubles, rounded once; of several NaNs, b is passed on, or else c.", slices.Concat(
			[]string{"VMOVDQU {a}, Y0", "VMOVDQU {b}, Y1", "VFMADD213PD {c}, Y1, Y0"}, passOn("{a}"), passOn("{c}"),
			passOn("{b}"))...),
		double("SqrtF64", "is the square root of doubles.", "VSQRTPD {a}, Y0"),
	}
}

// passOn makes the result in Y0 the quiet NaN of an operand, if that is a NaN.
func passOn(operand string) []string {
	return []string{"VMOVDQU " + operand + ", Y1", "VCMPPD $3, Y1, Y1, Y2", "VPOR Y15, Y1, Y1", "VBLENDVPD Y2, Y1, Y0, Y0"}
}

// extreme computes both orders of an instruction that returns its second operand for zeros and NaNs. Combining them
// is right for zeros and leaves numbers as they are; for a NaN the other operand is taken.
func extreme(pick, combine string) []string {
	return []string{
		"VMOVDQU {a}, Y2", "VMOVDQU {b}, Y3",
		pick + " Y3, Y2, Y0", pick + " Y2, Y3, Y1", combine + " Y1, Y0, Y0",
		"VCMPPS $3, Y2, Y2, Y1", "VBLENDVPS Y1, Y3, Y0, Y0",
		"VCMPPS $3, Y3, Y3, Y1", "VBLENDVPS Y1, Y2, Y0, Y0",
	}
}

func conversions() []function {
	packHalves := []string{ // X0 gets the low 16 bits of four lanes
		"VMOVDQU {a}, Y0", "VPSHUFB Y14, Y0, Y0", "VEXTRACTI128 $1, Y0, X1", "VPUNPCKLDQ X1, X0, X0",
	}
	packWords := []string{"VMOVDQU {a}, Y0", "VEXTRACTI128 $1, Y0, X1", "VSHUFPS $0x88, X1, X0, X0"} // the low 32 bits
	return []function{
		{
			name: "F32FromF16", doc: "converts halves to singles.", kind: alu,
			before: []string{use("packedNaN32", 15), use("pickHalves", 14)}, step: append(packHalves,
				"VCVTPH2PS X0, X0", "VCMPPS $3, X0, X0, X1", "VBLENDVPS X1, X15, X0, X0", "VPMOVZXDQ X0, Y0", "VMOVDQU Y0, {d}"),
		},
		{
			name: "F16FromF32", doc: "rounds singles to halves, to nearest even.", kind: alu,
			before: []string{"MOVL $0x7fff7fff, R8", "VMOVD R8, X15", "VPBROADCASTD X15, X15"}, step: append(packWords,
				"VCMPPS $3, X0, X0, X1", "VCVTPS2PH $0, X0, X0", "VPACKSSDW X1, X1, X1", "VPBLENDVB X1, X15, X0, X0",
				"VPMOVZXWQ X0, Y0", "VMOVDQU Y0, {d}"),
		},
		{
			name: "F64FromF32", doc: "converts singles to doubles.", kind: alu,
			step: append(packWords, "VCVTPS2PD X0, Y0", "VMOVDQU Y0, {d}"),
		},
		{name: "F32FromF64", doc: "rounds doubles to singles, to nearest even.", kind: alu, step: []string{
			"VCVTPD2PSY {a}, X0", "VPMOVZXDQ X0, Y0", "VMOVDQU Y0, {d}",
		}},
		{
			name: "F32FromS32", doc: "converts signed 32-bit integers to singles, to nearest even.", kind: alu,
			step: append(packWords,
				"VCVTDQ2PS X0, X0", "VPMOVZXDQ X0, Y0", "VMOVDQU Y0, {d}"),
		},
		{
			name: "Pack32", doc: "makes 64 bits of a, the lower 32, and b.", kind: alu, before: []string{use("low32", 15)},
			step: []string{
				"VPAND {a}, Y15, Y0", "VMOVDQU {b}, Y1", "VPSLLQ $32, Y1, Y1", "VPOR Y1, Y0, Y0", "VMOVDQU Y0, {d}",
			},
		},
		{
			name: "Pack16", doc: "makes 32 bits of a, the lower 16, and b.", kind: alu, before: []string{use("low16", 15)},
			step: []string{
				"VPAND {a}, Y15, Y0", "VPAND {b}, Y15, Y1", "VPSLLQ $16, Y1, Y1", "VPOR Y1, Y0, Y0", "VMOVDQU Y0, {d}",
			},
		},
		{name: "Unpack32", doc: "splits 64 bits in two.", kind: split, before: []string{use("low32", 15)}, step: []string{
			"VMOVDQU {a}, Y0", "VPSRLQ $32, Y0, Y1", "VPAND Y15, Y0, Y0", "VMOVDQU Y0, {low}", "VMOVDQU Y1, {high}",
		}},
		{name: "Unpack16", doc: "splits 32 bits in two.", kind: split, before: []string{use("low16", 15)}, step: []string{
			"VMOVDQU {a}, Y0", "VPSRLQ $16, Y0, Y1", "VPAND Y15, Y0, Y0", "VPAND Y15, Y1, Y1", "VMOVDQU Y0, {low}",
			"VMOVDQU Y1, {high}",
		}},
		{
			name: "F32FromBF16", doc: "converts bfloat16 numbers to singles. NaNs keep their bits.", kind: alu,
			before: []string{use("low16", 14)}, step: []string{
				"VPAND {a}, Y14, Y0", "VPSLLQ $16, Y0, Y0", "VMOVDQU Y0, {d}",
			},
		},
		{
			name: "BF16FromF32", doc: "rounds singles to bfloat16, to nearest even.", kind: alu,
			before: []string{use("nan16", 15), use("one", 14)}, step: []string{
				"VMOVDQU {a}, Y0", "VCMPPS $3, Y0, Y0, Y1",
				"VPSRLQ $16, Y0, Y2", "VPAND Y14, Y2, Y2", "VPADDQ Y15, Y2, Y2", // half of the last place, less one if that is even
				"VPADDQ Y2, Y0, Y0", "VPSRLQ $16, Y0, Y0", "VBLENDVPS Y1, Y15, Y0, Y0", "VMOVDQU Y0, {d}",
			},
		},
	}
}
