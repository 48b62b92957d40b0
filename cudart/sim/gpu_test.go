package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/driver"
)

// instruction is one PTX statement on registers d, a, b, c, whose types are
// given in that order.
type instruction struct{ text, types string }

// gpuInstructions are compared between GPU and simulator.
func gpuInstructions() []instruction {
	var l instructionList
	l.addIntegers()
	l.addBits()
	l.addFloats()
	l.addComparisons()
	l.addIntegerConversions()
	l.addFloatConversions()
	return l
}

type instructionList []instruction

// add appends instructions on registers of the given types.
func (l *instructionList) add(types string, texts ...string) {
	for _, text := range texts {
		*l = append(*l, instruction{text, types})
	}
}

func (l *instructionList) addIntegers() {
	for _, t := range []string{"u16", "s16", "u32", "s32", "u64", "s64"} {
		reg := "b" + t[1:]
		for _, op := range []string{"add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"} {
			l.add(strings.Repeat(reg+" ", 3), op+"."+t+" d, a, b;")
		}
		l.add(strings.Repeat(reg+" ", 4), "mad.lo."+t+" d, a, b, c;")
		l.add(reg+" "+reg+" b32", "shr."+t+" d, a, b;")
		for _, cmp := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
			l.add("b32 "+reg+" "+reg, "setp."+cmp+"."+t+" p, a, b; selp.b32 d, 1, 0, p;")
		}
	}
	l.add("b32 b32 b32", "add.sat.s32 d, a, b;", "sub.sat.s32 d, a, b;", "and.b32 d, a, b;", "shl.b32 d, a, b;")
	l.add("b64 b32 b32", "mul.wide.u32 d, a, b;", "mul.wide.s32 d, a, b;")
	l.add("b64 b32 b32 b64", "mad.wide.u32 d, a, b, c;", "mad.wide.s32 d, a, b, c;")
	l.add("b32 b32 b32 b32", "mad.hi.u32 d, a, b, c;", "mad.hi.s32 d, a, b, c;")
}

func (l *instructionList) addBits() {
	l.add("b32 b32 b32 b32", "bfe.u32 d, a, b, c;", "bfe.s32 d, a, b, c;",
		"prmt.b32 d, a, b, c;", "prmt.b32.f4e d, a, b, c;", "prmt.b32.b4e d, a, b, c;", "prmt.b32.rc8 d, a, b, c;",
		"prmt.b32.ecl d, a, b, c;", "prmt.b32.ecr d, a, b, c;", "prmt.b32.rc16 d, a, b, c;",
		"shf.l.wrap.b32 d, a, b, c;", "shf.r.wrap.b32 d, a, b, c;", "shf.l.clamp.b32 d, a, b, c;", "shf.r.clamp.b32 d, a, b, c;",
		"lop3.b32 d, a, b, c, 0x2d;", "slct.b32.s32 d, a, b, c;", "bfi.b32 d, a, b, c, 7;", "bfi.b32 d, a, b, 5, c;")
	// PTX takes these counts modulo 256; the GPU does so for 32-bit operands only.
	l.add("b64 b64 b32 b32", "and.b32 b, b, 255; and.b32 c, c, 255; bfe.u64 d, a, b, c;", "and.b32 b, b, 255; and.b32 c, c, 255; bfe.s64 d, a, b, c;")
	l.add("b64 b64 b64 b32", "and.b32 c, c, 255; bfi.b64 d, a, b, c, 9;")
	l.add("b64 b64 b32", "shl.b64 d, a, b;")
	l.add("b32 b32", "popc.b32 d, a;", "clz.b32 d, a;", "brev.b32 d, a;", "bfind.u32 d, a;", "bfind.s32 d, a;", "bfind.shiftamt.s32 d, a;", "neg.s32 d, a;", "abs.s32 d, a;", "cnot.b32 d, a;")
	l.add("b32 b64", "popc.b64 d, a;", "clz.b64 d, a;", "bfind.u64 d, a;", "bfind.s64 d, a;")
	l.add("b64 b64", "brev.b64 d, a;", "abs.s64 d, a;")
}

func (l *instructionList) addFloats() {
	for _, op := range []string{"add", "sub", "mul", "div.rn", "min", "max", "max.NaN", "min.NaN", "add.ftz", "mul.ftz", "min.ftz", "add.sat", "copysign"} {
		l.add("f32 f32 f32", op+".f32 d, a, b;")
	}
	l.add("f32 f32 f32 f32", "fma.rn.f32 d, a, b, c;", "fma.rn.ftz.f32 d, a, b, c;", "fma.rn.sat.f32 d, a, b, c;")
	l.add("f32 f32", "abs.f32 d, a;", "neg.f32 d, a;", "rcp.rn.f32 d, a;", "sqrt.rn.f32 d, a;")
	for _, op := range []string{"add", "sub", "mul", "div.rn", "min", "max"} {
		l.add("f64 f64 f64", op+".f64 d, a, b;")
	}
	l.add("f64 f64 f64 f64", "fma.rn.f64 d, a, b, c;")
	l.add("f64 f64", "abs.f64 d, a;", "neg.f64 d, a;", "rcp.rn.f64 d, a;", "sqrt.rn.f64 d, a;")
	for _, t := range []string{"f16", "f16x2", "bf16", "bf16x2"} {
		l.addSmallFloats(t)
	}
}

func (l *instructionList) addSmallFloats(t string) {
	reg := "b16"
	if strings.HasSuffix(t, "x2") {
		reg = "b32"
	}
	ops := []string{"min", "max", "min.NaN", "max.NaN"}
	if strings.HasPrefix(t, "f16") {
		ops = append(ops, "add", "sub", "mul", "add.sat", "add.ftz", "mul.ftz", "min.ftz")
	}
	for _, op := range ops {
		l.add(strings.Repeat(reg+" ", 3), op+"."+t+" d, a, b;")
	}
	l.add(strings.Repeat(reg+" ", 4), "fma.rn."+t+" d, a, b, c;")
	l.add(reg+" "+reg, "neg."+t+" d, a;", "abs."+t+" d, a;")
}

func (l *instructionList) addComparisons() {
	for _, cmp := range []string{"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"} {
		l.add("b32 f32 f32", "setp."+cmp+".f32 p, a, b; selp.b32 d, 1, 0, p;", "setp."+cmp+".ftz.f32 p, a, b; selp.b32 d, 1, 0, p;")
		l.add("b32 f64 f64", "setp."+cmp+".f64 p, a, b; selp.b32 d, 1, 0, p;")
		l.add("b32 b16 b16", "setp."+cmp+".f16 p, a, b; selp.b32 d, 1, 0, p;")
	}
}

func (l *instructionList) addIntegerConversions() {
	for _, to := range []string{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"} {
		reg := map[string]string{"8": "b32", "16": "b16", "32": "b32", "64": "b64"}[to[1:]]
		for _, from := range []string{"u16", "s16", "u32", "s32", "u64", "s64"} {
			l.add(reg+" b"+from[1:], "cvt."+to+"."+from+" d, a;")
			if mayClip(to, from) { // otherwise PTX does not allow it
				l.add(reg+" b"+from[1:], "cvt.sat."+to+"."+from+" d, a;")
			}
		}
		for _, mode := range []string{"rni", "rzi", "rmi", "rpi"} {
			l.add(reg+" f32", "cvt."+mode+"."+to+".f32 d, a;")
			l.add(reg+" f64", "cvt."+mode+"."+to+".f64 d, a;")
			l.add(reg+" b16", "cvt."+mode+"."+to+".f16 d, a;")
		}
		if reg == "b32" && to[1:] == "8" {
			continue
		}
		for _, mode := range []string{"rn", "rz", "rm", "rp"} {
			l.add("f32 "+reg, "cvt."+mode+".f32."+to+" d, a;")
			l.add("f64 "+reg, "cvt."+mode+".f64."+to+" d, a;")
		}
		l.add("b16 "+reg, "cvt.rn.f16."+to+" d, a;")
	}
}

func (l *instructionList) addFloatConversions() {
	for _, mode := range []string{"rn", "rz", "rm", "rp"} {
		l.add("f32 f64", "cvt."+mode+".f32.f64 d, a;")
	}
	for _, mode := range []string{"rni", "rzi", "rmi", "rpi"} {
		l.add("f32 f32", "cvt."+mode+".f32.f32 d, a;")
		l.add("f64 f64", "cvt."+mode+".f64.f64 d, a;")
	}
	for _, mode := range []string{"rn", "rz"} {
		l.add("b16 f32", "cvt."+mode+".f16.f32 d, a;", "cvt."+mode+".bf16.f32 d, a;")
		l.add("b32 f32 f32", "cvt."+mode+".f16x2.f32 d, a, b;", "cvt."+mode+".bf16x2.f32 d, a, b;")
	}
	l.add("b16 f64", "cvt.rn.f16.f64 d, a;")
	l.add("f64 f32", "cvt.f64.f32 d, a;", "cvt.ftz.f64.f32 d, a;")
	l.add("f32 f32", "cvt.sat.f32.f32 d, a;", "cvt.ftz.f32.f32 d, a;")
	l.add("f32 b16", "cvt.f32.f16 d, a;")
	l.add("f64 b16", "cvt.f64.f16 d, a;")
}

// mayClip reports whether the range of an integer type is not all of another's.
func mayClip(to, from string) bool {
	var toBits, fromBits int
	fmt.Sscan(to[1:], &toBits)
	fmt.Sscan(from[1:], &fromBits)
	switch {
	case to[0] == from[0]:
		return toBits < fromBits
	case to[0] == 's':
		return toBits <= fromBits
	}
	return true
}

// writeInstructionKernel writes a kernel that applies an instruction to rows
// of 32 bytes: a result, and three operands.
func writeInstructionKernel(w *strings.Builder, name string, in instruction) {
	fmt.Fprintf(w, `
.visible .entry %s(.param .u64 rows)
{
	.reg .b64 %%base, %%offset;
	.reg .b32 %%row, %%block, %%size;
	.reg .pred p;
	ld.param.u64 %%base, [rows];
	mov.u32 %%row, %%tid.x;
	mov.u32 %%block, %%ctaid.x;
	mov.u32 %%size, %%ntid.x;
	mad.lo.u32 %%row, %%block, %%size, %%row;
	mul.wide.u32 %%offset, %%row, 32;
	add.s64 %%base, %%base, %%offset;
`, name)
	types := strings.Fields(in.types)
	for i, t := range types {
		fmt.Fprintf(w, "\t.reg .%s %c;\n", t, "dabc"[i])
		if i > 0 {
			fmt.Fprintf(w, "\tld.global.%s %c, [%%base+%d];\n", t, "dabc"[i], 8*i)
		}
	}
	fmt.Fprintf(w, "\t%s\n\tst.global.%s [%%base], d;\n\tret;\n}\n", in.text, types[0])
}

// randomOperand is a value of a register type, often a special one.
func randomOperand(r *rand.Rand, typ string) uint64 {
	edges := map[string][]uint64{
		"b16": {0, 1, 0x7fff, 0x8000, 0xffff, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x03ff, 0x0400, 0x7bff, 0x3f80, 0x7f80, 0x7f81},
		"b32": {0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff, 0x3c003c00, 0x7e003c00},
		"b64": {0, 1, 2, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, 1<<63 - 1, 1 << 63, math.MaxUint64},
		"f32": {0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x4f000000, 0x4f800000, 0x3f000000, 0x40200000},
		"f64": {0, 1 << 63, 1, 0x3ff0 << 48, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48, 0xfff8123456789abc, 0x7ff0000000000001, 0x41e0 << 48, 0x43e0 << 48, 0x4004 << 48, 0x36a0 << 48},
	}[typ]
	switch r.IntN(4) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		if typ[0] == 'b' {
			return r.Uint64N(80)
		}
		if typ == "f32" { // near one
			return uint64(0x3f800000+r.Uint32N(256)-128) ^ uint64(r.Uint32()&0x80000000)
		}
		return math.Float64bits((r.Float64() - 0.5) * math.Exp2(float64(r.IntN(140)-70)))
	case 2:
		if typ == "f32" {
			return uint64(math.Float32bits(float32((r.Float64() - 0.5) * math.Exp2(float64(r.IntN(140)-70)))))
		}
	}
	return r.Uint64()
}

// Every instruction gives the same bits on a GPU and in the simulator.
func TestGPUAndSimulatorAgreeOnInstructions(t *testing.T) {
	compareInstructions(t, gpuBackend(t, 8), ".version 7.8\n.target sm_80", gpuInstructions())
}

// gpuBackend is the driver's, where there is a GPU of that compute capability
// or a higher one. Otherwise it skips the test.
func gpuBackend(t *testing.T, major int) cudart.Backend {
	t.Helper()
	gpus := driver.New()
	infos, err := gpus.Devices()
	switch {
	case err != nil && (os.Getenv("GPURUN_REQUIRE_GPU") == "1" || !errors.Is(err, cudart.ErrNoDevice)):
		t.Fatal(err)
	case err != nil:
		t.Skip("no GPU:", err)
	case infos[0].Major < major:
		t.Skipf("%s has compute capability %d.%d", infos[0].Name, infos[0].Major, infos[0].Minor)
	}
	return gpus
}

func compareInstructions(t *testing.T, gpus cudart.Backend, head string, all []instruction) {
	t.Helper()
	var text strings.Builder
	text.WriteString(head + "\n.address_size 64\n")
	for i, in := range all {
		writeInstructionKernel(&text, fmt.Sprintf("k%d", i), in)
	}
	const rows = 8192
	r := rand.New(rand.NewPCG(5, 6))
	inputs := make([][]byte, len(all))
	for i, in := range all {
		inputs[i] = make([]byte, 32*rows)
		for row := range rows {
			for k, typ := range strings.Fields(in.types)[1:] {
				binary.LittleEndian.PutUint64(inputs[i][32*row+8*(k+1):], randomOperand(r, typ))
			}
		}
	}
	onGPU := runInstructions(t, gpus, text.String(), inputs)
	simulated := runInstructions(t, New(1, Options{}), text.String(), inputs)
	for i, in := range all {
		compareRows(t, in, onGPU[i], simulated[i])
	}
}

func runInstructions(t *testing.T, backend cudart.Backend, text string, inputs [][]byte) [][]byte {
	t.Helper()
	d, err := backend.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := d.LoadModule("instructions", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := mustStream(t, d)
	out := make([][]byte, len(inputs))
	for i, in := range inputs {
		k, err := m.Kernel(fmt.Sprintf("k%d", i))
		if err != nil {
			t.Fatal(err)
		}
		p := mustMalloc(t, d, int64(len(in)))
		if err := s.Upload(p, in); err != nil {
			t.Fatal(err)
		}
		if err := s.Launch(k, cudart.Launch{Blocks: len(in) / 32 / 256, Threads: 256}, params(uint64(p))); err != nil {
			t.Fatal(err)
		}
		out[i] = make([]byte, len(in))
		if err := s.Download(out[i], p); err != nil {
			t.Fatal(err)
		}
		if err := d.Free(p); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func compareRows(t *testing.T, in instruction, gpu, simulated []byte) {
	t.Helper()
	word := func(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	wrong := 0
	for at := 0; at < len(gpu); at += 32 {
		if word(gpu, at) == word(simulated, at) {
			continue
		}
		if wrong++; wrong <= 4 {
			t.Errorf("%s of %#x, %#x, %#x is %#x on the GPU and %#x here", in.text,
				word(gpu, at+8), word(gpu, at+16), word(gpu, at+24), word(gpu, at), word(simulated, at))
		}
	}
	if wrong > 4 {
		t.Errorf("%s: %d results differ", in.text, wrong)
	}
}
