package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The registers of random programs: numbers of 16, 32 and 64 bits, and predicates.
const randomRegisters = 5

// randomProgram is instructions on registers that begin as ramps, numbers that are the same in
// all lanes, and others. Some are guarded, so that registers become irregular in some lanes.
func randomProgram(r *rand.Rand, n int) string {
	pick := func(names ...string) string { return names[r.IntN(len(names))] }
	reg := func(kind string) string { return fmt.Sprintf("%%%s%d", kind, r.IntN(randomRegisters)) }
	source := func(kind string) string {
		if r.IntN(4) == 0 {
			return pick("0", "1", "4", "7", "16", "-1", "-16", "2147483647")
		}
		return reg(kind)
	}
	bits := func(kind string) string { return map[string]string{"r": "32", "d": "64"}[kind] }
	var text strings.Builder
	for range n {
		if r.IntN(4) == 0 {
			text.WriteString(pick("@", "@!") + reg("p") + " ")
		}
		kind := pick("r", "d")
		t := pick("u", "s") + bits(kind)
		d, a, b, c := reg(kind), source(kind), source(kind), source(kind)
		switch r.IntN(12) {
		case 0, 1, 2:
			fmt.Fprintf(&text, "%s.%s %s, %s, %s;\n", pick("add", "sub", "min", "max", "mul.lo"), t, d, a, b)
		case 3:
			fmt.Fprintf(&text, "mad.lo.%s %s, %s, %s, %s;\n", t, d, a, b, c)
		case 4:
			fmt.Fprintf(&text, "%s %s, %s, %s;\n", pick("mul.wide.u32", "mul.wide.s32"), reg("d"), source("r"), source("r"))
		case 5:
			fmt.Fprintf(&text, "%s %s, %s, %s, %s;\n", pick("mad.wide.u32", "mad.wide.s32"), reg("d"), source("r"), source("r"), source("d"))
		case 6:
			fmt.Fprintf(&text, "shl.b%s %s, %s, %s;\n", bits(kind), d, a, pick("2", "31", "32", "63", reg("r")))
		case 7:
			fmt.Fprintf(&text, "%s.b%s %s, %s, %s;\n", pick("and", "or", "xor"), bits(kind), d, a, b)
		case 8:
			fmt.Fprintf(&text, "%s;\n", pick(
				fmt.Sprintf("cvt.u64.u32 %s, %s", reg("d"), reg("r")), fmt.Sprintf("cvt.s64.s32 %s, %s", reg("d"), reg("r")),
				fmt.Sprintf("cvt.u32.u64 %s, %s", reg("r"), reg("d")), fmt.Sprintf("cvt.u32.u16 %s, %s", reg("r"), reg("h")),
				fmt.Sprintf("cvt.u16.u32 %s, %s", reg("h"), reg("r")), fmt.Sprintf("mov.b%s %s, %s", bits(kind), d, a),
				fmt.Sprintf("mov.b64 %s, {%s, %s}", reg("d"), reg("r"), reg("r")), fmt.Sprintf("mov.b32 {%s, %s}, %s", reg("h"), reg("h"), reg("r")),
				fmt.Sprintf("mov.b64 {%s, %s}, %s", reg("r"), reg("r"), reg("d")), fmt.Sprintf("mov.b32 %s, {%s, %s}", reg("r"), reg("h"), reg("h"))))
		case 9, 10:
			relation := pick("eq", "ne", "lt", "le", "gt", "ge")
			fmt.Fprintf(&text, "setp.%s.%s %s, %s, %s;\n", relation, t, reg("p"), a, b)
		case 11:
			fmt.Fprintf(&text, "selp.b%s %s, %s, %s, %s;\n", bits(kind), d, a, b, reg("p"))
		}
	}
	return text.String()
}

// randomKernel wraps a program: it begins and ends by loading and storing the registers
// of each thread, 256 bytes of them, at 10 words for all and 10 for each thread.
func randomKernel(program string) string {
	var start, end strings.Builder
	for i := range randomRegisters {
		fmt.Fprintf(&start, "setp.gt.u32 %%p%d, %%thread, %d;\n", i, 8*i)
		fmt.Fprintf(&end, "st.global.u16 [%%out+%d], %%h%d; selp.u32 %%x, 1, 0, %%p%d; st.global.u32 [%%out+%d], %%x;\n", 128+2*i, i, i, 160+4*i)
	}
	return fmt.Sprintf(`
.version 8.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 same, .param .u64 each, .param .u64 out)
{
	.reg .b64 %%d<%[1]d>, %%same, %%each, %%out, %%far;
	.reg .b32 %%r<%[1]d>, %%thread, %%x;
	.reg .b16 %%h<%[1]d>;
	.reg .pred %%p<%[1]d>;
	mov.u32 %%thread, %%tid.x;
	ld.param.u64 %%same, [same];
	ld.param.u64 %%each, [each];
	ld.param.u64 %%out, [out];
	mad.wide.u32 %%each, %%thread, 32, %%each;
	mad.wide.u32 %%out, %%thread, 256, %%out;
	%[2]s
	mov.b32 %%r0, %%thread;
	mul.lo.u32 %%r1, %%thread, -16;
	ld.global.v2.u32 {%%r2, %%r3}, [%%same];
	ld.global.u32 %%r4, [%%each];
	add.u64 %%d0, %%each, 0;
	ld.global.v2.u64 {%%d1, %%d2}, [%%same+16];
	ld.global.v2.u64 {%%d3, %%d4}, [%%each+16];
	cvt.u16.u32 %%h0, %%r4;
	%[3]s
	st.global.v4.u32 [%%out], {%%r0, %%r1, %%r2, %%r3};
	st.global.u32 [%%out+16], %%r4;
	st.global.v2.u64 [%%out+32], {%%d0, %%d1};
	st.global.v2.u64 [%%out+48], {%%d2, %%d3};
	st.global.u64 [%%out+64], %%d4;
	%[4]s
	ret;
}
`, randomRegisters, start.String(), program, end.String())
}

// A warp that lacks a lane computes lane by lane, and one that has all of them gets the
// same.
func TestWholeWarpsComputeTheSame(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		program := randomProgram(r, 25)
		p := compileText(t, randomKernel(program))
		inputs := make([]byte, 1024)
		for i := 0; i < len(inputs); i += 4 {
			binary.LittleEndian.PutUint32(inputs[i:], uint32(r.Uint64()>>r.IntN(64)))
		}
		run := func(threads int) []byte {
			var mem memory
			same, each, out := mem.allocate(256), mem.allocate(1024), mem.allocate(32*256)
			copy(mem.at(same), inputs[:32])
			copy(mem.at(each), inputs)
			if err := finish(t, launchKernel(t, p, "run", Config{Threads: threads, Params: words(same, each, out), Memory: &mem})); err != nil {
				t.Fatalf("%v\n%s", err, program)
			}
			return mem.at(out)[:31*256]
		}
		if diff := cmp.Diff(run(31), run(32)); diff != "" {
			t.Fatalf("seed %d: a warp with all lanes gets something else (+):\n%s\n%s", seed, diff, program)
		}
	}
}

// rampBase draws numbers near which something overflows, and others.
func rampBase(r *rand.Rand) uint64 {
	edges := []uint64{0, 1 << 15, 1 << 16, 1 << 31, 1 << 32, 1 << 61, 1 << 63, -(1 << 32) & (1<<64 - 1), r.Uint64() >> r.IntN(64)}
	return edges[r.IntN(len(edges))] + uint64(r.IntN(400)) - 200
}

func rampStep(r *rand.Rand) uint64 {
	steps := []uint64{0, 0, 1, 4, 16, 1 << 30, 1 << 32, 1<<32 + 1, 1 << 59, r.Uint64() >> r.IntN(64)}
	step := steps[r.IntN(len(steps))]
	if r.IntN(2) == 0 {
		return -step
	}
	return step
}

// What is computed from ramps is what is computed lane by lane, whatever the ramps.
func TestRampsAgreeWithLanes(t *testing.T) {
	instructions := []string{
		"add.u32 %r0, %r1, %r2;", "add.u64 %d0, %d1, %d2;", "sub.s32 %r0, %r1, %r2;", "sub.u64 %d0, %d1, %d2;",
		"mul.lo.u32 %r0, %r1, %r2;", "mul.lo.s64 %d0, %d1, %d2;", "mad.lo.u32 %r0, %r1, %r2, %r3;", "mad.lo.u64 %d0, %d1, %d2, %d3;",
		"mul.wide.u32 %d0, %r1, %r2;", "mul.wide.s32 %d0, %r1, %r2;", "mad.wide.u32 %d0, %r1, %r2, %d3;", "mad.wide.s32 %d0, %r1, %r2, %d3;",
		"mul.wide.u16 %r0, %h1, %h2;", "shl.b32 %r0, %r1, %r2;", "shl.b64 %d0, %d1, %r2;",
		"cvt.u64.u32 %d0, %r1;", "cvt.u32.u64 %r0, %d1;", "cvt.s64.s32 %d0, %r1;", "cvt.u32.u16 %r0, %h1;", "cvt.u16.u32 %h0, %r1;",
		"mov.b64 %d0, %d1;", "cvta.to.global.u64 %d0, %d1;", "cvta.shared.u64 %d0, %d1;", "cvta.to.shared.u64 %d0, %d1;",
	}
	for _, kind := range []string{"u32", "s32", "b32", "u64", "s64"} {
		for _, relation := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
			if kind != "b32" || len(relation) == 2 && strings.Contains("eqne", relation) {
				instructions = append(instructions, fmt.Sprintf("setp.%s.%s %%p0, %%%[3]s1, %%%[3]s2;", relation, kind, map[string]string{"32": "r", "64": "d"}[kind[1:]]))
			}
		}
	}
	for _, text := range instructions {
		k, _ := compileText(t, randomKernel(text)).Kernel("run")
		i := slices.IndexFunc(k.code, func(o op) bool { return o.inst.Text == strings.TrimSuffix(text, ";") })
		if i < 0 {
			t.Fatalf("%s: no such op", text)
		}
		checkRamps(t, text, &k.code[i])
	}
}

func checkRamps(t *testing.T, text string, o *op) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	ramps := 0
	for range 20000 {
		var in [3]ramp
		var lanesOf [3]lanes
		for k, slot := range [3]int32{o.a, o.b, o.c} {
			switch in[k] = (ramp{rampBase(r), rampStep(r)}); {
			case slot == 0: // an operand that it does not have
				in[k] = ramp{}
			case k > 0 && r.IntN(2) == 0:
				in[k] = ramp{base: uint64(r.IntN(70))}
			}
			in[k].spread(&lanesOf[k])
		}
		if o.kind == opCompare {
			got, ok := o.cmpRamps(in[0], in[1])
			if want := o.cmp(&lanesOf[0], &lanesOf[1]); ok && got != want {
				t.Fatalf("%s of %v: %#x, want %#x", text, in, got, want)
			} else if ok {
				ramps++
			}
			continue
		}
		if o.ramp == nil {
			return
		}
		var got, want lanes
		if out, ok := o.ramp(in[0], in[1], in[2]); ok {
			ramps++
			out.spread(&got)
			o.alu(&want, &lanesOf[0], &lanesOf[1], &lanesOf[2])
			if got != want {
				t.Fatalf("%s of %v: %#x, want %#x", text, in, got, want)
			}
		}
	}
	if ramps < 1000 {
		t.Errorf("%s: only %d of 20000 gave a ramp", text, ramps)
	}
}

// An access of a whole warp moves what it should, at any distance between the lanes, and if
// one lane is at fault, it is that one.
func TestEvenAccesses(t *testing.T) {
	const bytes = 1 << 14
	for _, access := range []struct {
		typ  string
		n    int // registers
		size int
	}{
		{"u8", 1, 1},
		{"u16", 1, 2},
		{"u32", 1, 4},
		{"u64", 1, 8},
		{"v2.u32", 2, 4},
		{"v4.u32", 4, 4},
		{"v2.u64", 2, 8},
		{"v4.u16", 4, 2},
	} {
		whole := access.n * access.size
		for _, step := range []int{0, whole, -whole, 2 * whole, 16, -48, 96, 4, 2, 1} {
			for _, start := range []int{0, 1600, bytes - 32*whole, bytes - whole, bytes - 31*whole, 8, 4} {
				checkEven(t, access.typ, access.n, access.size, start, step, bytes)
			}
		}
	}
}

func checkEven(t *testing.T, typ string, n, size, start, step, bytes int) {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%%v%d", i))
	}
	vector := strings.Join(names, ", ")
	if n > 1 {
		vector = "{" + vector + "}"
	}
	text := fmt.Sprintf(`
.version 8.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 from, .param .u64 to, .param .u64 step)
{
	.reg .b64 %%from, %%to, %%step, %%thread, %%v<4>;
	.reg .b32 %%tid;
	ld.param.u64 %%from, [from];
	ld.param.u64 %%to, [to];
	ld.param.u64 %%step, [step];
	mov.u32 %%tid, %%tid.x;
	cvt.u64.u32 %%thread, %%tid;
	mul.lo.u64 %%thread, %%thread, %%step;
	add.u64 %%from, %%from, %%thread;
	add.u64 %%to, %%to, %%thread;
	ld.global.%[1]s %[2]s, [%%from];
	st.global.%[1]s [%%to], %[2]s;
	ret;
}
`, typ, vector)
	var mem memory
	from, to := mem.allocate(bytes), mem.allocate(bytes)
	from, to = from+uint64(start), to+uint64(start)
	want, fault := make([]byte, bytes), -1
	for i := range bytes {
		mem.at(from - uint64(start))[i] = byte(i*7 + i>>8)
	}
	for lane := range 32 {
		at := start + lane*step
		if at < 0 || at+n*size > bytes || at%(n*size) != 0 {
			fault = lane
			break
		}
		copy(want[at:at+n*size], mem.at(from - uint64(start))[at:])
	}
	err := finish(t, launchKernel(t, compileText(t, text), "run", Config{Params: words(from, to, uint64(step)), Memory: &mem}))
	var got *Fault
	switch name := fmt.Sprintf("%s from %d in steps of %d", typ, start, step); {
	case fault < 0 && err != nil:
		t.Errorf("%s: %v", name, err)
	case fault < 0 && !slices.Equal(mem.at(to-uint64(start)), want):
		t.Errorf("%s: moved something else", name)
	case fault >= 0 && (!errors.As(err, &got) || got.Thread != fault):
		t.Errorf("%s: %v, want a fault of thread %d", name, err, fault)
	}
}
