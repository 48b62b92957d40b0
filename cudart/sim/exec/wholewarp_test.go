package exec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomInstructions are what random programs are made of. R is a register of 32 bits, X one of 64, H one of 16, F a
// float, P a predicate; S and Y may be immediates in place of R and X. A is an address in memory that no thread
// writes, B one in the thread's own.
const randomInstructions = `
add.s32 R, S, S; sub.s32 R, S, S; mul.lo.s32 R, S, S; mul.hi.u32 R, S, S; mul.hi.s32 R, S, S; mad.lo.u32 R, S, S, S;
mul.wide.u32 X, S, S; mul.wide.s32 X, S, S; mad.wide.s32 X, S, S, Y; mad.wide.u32 X, S, S, Y; add.s64 X, Y, Y;
sub.s64 X, Y, Y; mul.lo.s64 X, Y, Y; mad.lo.s64 X, Y, Y, Y; min.s32 R, S, S; max.u32 R, S, S; min.u64 X, Y, Y;
max.s64 X, Y, Y; and.b32 R, S, S; or.b64 X, Y, Y; xor.b32 R, S, S; not.b32 R, S; not.b64 X, Y; shl.b32 R, S, S;
shl.b64 X, Y, S; shr.u32 R, S, S; shr.s32 R, S, S; shr.s64 X, Y, S; shr.u64 X, Y, S; shl.b32 R, S, 3;
shl.b64 X, Y, 33; shr.s32 R, S, 31; shr.u64 X, Y, 63; mov.u32 R, S; mov.u64 X, Y; mov.b64 X, {S, S};
mov.b64 {R, R}, X; mov.b64 {_, R}, X; mov.b32 R, {H, H}; mov.b32 {H, H}, R; cvt.u64.u32 X, R; cvt.s64.s32 X, R;
cvt.u32.u64 R, X; cvt.s32.s64 X, X; cvt.u16.u32 H, R; cvt.u32.u16 R, H; cvt.s32.s16 R, H; cvt.s32.s8 R, R;
cvt.u8.u32 R, R; cvt.s8.s32 R, R; cvt.s16.s32 R, R; cvt.s64.s16 X, H; cvt.u64.u16 X, H; cvt.sat.u8.s32 R, R;
cvt.rn.f32.s32 F, R; cvt.rn.f32.u32 F, R; cvt.rzi.s32.f32 R, F; cvt.f32.f16 F, H; cvt.rn.f16.f32 H, F;
cvt.rn.bf16.f32 H, F; add.f32 F, F, F; mul.f32 F, F, F; fma.rn.f32 F, F, F, F; min.f32 F, F, F; max.f32 F, F, F;
div.rn.f32 F, F, F; neg.s32 R, R; abs.s32 R, R; neg.f32 F, F; abs.f32 F, F; selp.b32 R, S, S, P;
selp.b64 X, Y, Y, P; slct.s32.s32 R, S, S, S; setp.lt.s32 P, S, S; setp.ge.u32 P, S, S; setp.eq.s32 P, S, S;
setp.ne.s64 P, Y, Y; setp.gt.s64 P, Y, Y; setp.lo.u64 P, Y, Y; setp.le.u64 P, Y, Y; setp.lt.f32 P, F, F;
setp.neu.f32 P, F, F; setp.gt.and.s32 P|P, S, S, P; setp.lt.s16 P, H, H; set.lt.u32.s32 R, S, S; and.pred P, P, P;
xor.pred P, P, P; not.pred P, P; add.s16 H, H, H; mul.lo.s16 H, H, H; mad.lo.s16 H, H, H, H; mul.wide.s16 R, H, H;
mul.wide.u16 R, H, H; and.b16 H, H, H; shl.b16 H, H, S; shr.s16 H, H, S; min.s16 H, H, H; bfe.u32 R, S, S, S;
bfe.s32 R, S, 5, 9; bfi.b32 R, S, S, 4, 7; bfe.s64 X, Y, S, S; popc.b32 R, S; clz.b64 R, Y; brev.b32 R, S;
lop3.b32 R, S, S, S, 0x96; prmt.b32 R, S, S, S; prmt.b32 R, S, S, 0x5410; shf.l.wrap.b32 R, S, S, S;
shf.r.clamp.b32 R, S, S, 7; sad.u32 R, S, S, S; div.u32 R, S, S; rem.s32 R, S, S; div.s64 X, Y, Y;
mul24.lo.s32 R, S, S; add.cc.u32 R, S, S; addc.u32 R, S, S; dp4a.s32.s32 R, S, S, S; vadd.s32.s32.s32 R, S, S;
min.s32 R, R, R; add.f16 H, H, H; fma.rn.f16x2 R, R, R, R; add.f16x2 R, R, R; testp.finite.f32 P, F;
ex2.approx.f32 F, F; ld.global.u32 R, [A]; ld.global.s8 R, [A+3]; ld.global.s8 X, [A+3]; ld.global.u16 H, [A+2];
ld.global.s16 R, [A+2]; ld.global.s32 X, [A+4]; ld.global.u64 X, [A+8]; ld.global.v2.u32 {R, R}, [A+8];
ld.global.v4.u32 {R, R, R, R}, [A]; ld.global.v2.u64 {X, X}, [A]; ld.global.v4.u8 {R, R, R, R}, [A+4];
ld.global.v2.s8 {R, R}, [A+2]; ld.global.v4.u16 {H, H, H, H}, [A+8]; ld.global.v2.s32 {X, X}, [A+8];
ld.global.v2.u16 {R, R}, [A+8]; ld.volatile.global.u32 R, [A+4]; ld.relaxed.gpu.global.v4.u32 {R, R, R, R}, [A];
ld.relaxed.gpu.global.s8 X, [A+1]; ld.acquire.sys.global.v2.u64 {X, X}, [A]; ld.global.u32 R, [%data+16];
ld.global.v4.u32 {R, R, R, R}, [%data+32]; ld.relaxed.sys.global.v4.u32 {R, R, R, R}, [%data+48];
ld.relaxed.sys.global.s16 X, [%data+48]; st.global.u32 [B+4], S; st.global.u8 [B+1], R; st.global.u16 [B+2], H;
st.global.v4.u32 [B+16], {S, S, S, S}; st.global.v2.u64 [B+16], {Y, Y}; st.global.v2.u32 [B+8], {X, S};
st.global.v4.u8 [B+8], {R, X, R, R}; st.volatile.global.v4.u32 [B], {S, S, S, S};
st.relaxed.gpu.global.v2.u16 [B+4], {H, H}; ld.global.v4.u32 {R, R, R, R}, [B+16]; ld.global.u32 X, [B+8];
st.local.v4.u32 [local+16], {S, S, S, S}; st.local.u8 [local+5], R; st.local.u64 [local+32], Y;
ld.local.v2.u64 {X, X}, [local+16]; ld.local.s16 R, [local+4]; ld.local.v4.u32 {R,R,R,R}, [local];
call (R), fn, (S); call (R, X), fm, (S, Y);
`

const randomText = `
.version 8.0
.target sm_90
.address_size 64
.func (.reg .b32 d) fn(.reg .b32 a)
{ .reg .pred p; .reg .b32 t; setp.lt.s32 p, a, 40; mul.lo.u32 d, a, 3; @p ret; shr.u32 t, a, 2; add.u32 d, t, 7; ret; }
.func (.param .b32 d, .param .b64 e) fm(.param .b32 a, .param .b64 b)
{
	.reg .b32 t, u;
	.reg .b64 x;
	.local .align 8 .b8 l[16];
	ld.param.u32 t, [a]; ld.param.u64 x, [b]; st.local.u64 [l+8], x;
	call (u), fn, (t); st.param.b32 [d], u; st.local.u32 [l+12], t; ld.local.u64 x, [l+8]; st.param.b64 [e], x;
	ret;
}
.visible .entry run(.param .u64 in, .param .u64 out)
{
	.reg .b32 %r<6>, %ra, %tid, %n<4>;
	.reg .b64 %d<4>, %xa, %xb, %data;
	.reg .b16 %h<3>;
	.reg .f32 %f<3>;
	.reg .pred %p<3>, %pl;
	.local .align 16 .b8 local[64];
	ld.param.u64 %data, [in]; ld.param.u64 %xb, [out]; mov.u32 %tid, %tid.x; mad.wide.u32 %xb, %tid, 256, %xb;
	mov.u32 %r0, %tid; mov.u32 %r1, 17; xor.b32 %r2, %tid, 5; mul.lo.u32 %r3, %tid, -3; add.u32 %r4, %tid, 1000;
	mov.u32 %r5, 0; mov.u64 %d0, 0; cvt.u64.u32 %d1, %r2; mul.wide.s32 %d2, %r3, 1000; mov.u64 %d3, -9;
	mov.u16 %h0, 3; cvt.u16.u32 %h1, %r2; cvt.u16.u32 %h2, %r3;
	cvt.rn.f32.s32 %f0, %r3; mov.f32 %f1, 0f3fc00000; cvt.rn.f32.u32 %f2, %r2;
	setp.lt.u32 %p0, %tid, 9; setp.ne.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r5, 0;
	BODY
	st.global.v4.u32 [%xb+128], {%r0, %r1, %r2, %r3}; st.global.v2.u32 [%xb+144], {%r4, %r5};
	st.global.v2.u64 [%xb+160], {%d0, %d1}; st.global.v2.u64 [%xb+176], {%d2, %d3};
	st.global.v2.u16 [%xb+192], {%h0, %h1}; st.global.u16 [%xb+196], %h2;
	st.global.v2.f32 [%xb+200], {%f0, %f1}; st.global.f32 [%xb+208], %f2;
	selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2;
	st.global.v4.u32 [%xb+224], {%r0, %r1, %r2, 0};
	ret;
}`

// randomKernel wraps the body of a random program.
func randomKernel(body string) string { return strings.Replace(randomText, "BODY", body, 1) }

// programWriter writes a random program.
type programWriter struct {
	*rand.Rand
	strings.Builder
	forms  []string // of instructions
	labels int
}

func (w *programWriter) one(of ...string) string { return of[w.IntN(len(of))] }

func (w *programWriter) register(letter string, n int) string {
	return fmt.Sprintf("%%%s%d", letter, w.IntN(n))
}

// operand is what stands for a letter of randomInstructions.
func (w *programWriter) operand(letter byte) string {
	switch letter {
	case 'S', 'Y':
		if w.IntN(5) == 0 {
			return w.one("0", "1", "-1", "5", "31", "32", "64", "255", "0x80000000", "0x7fffffff", "65536")
		}
		return w.operand(letter - 1)
	case 'R':
		return w.register("r", 6)
	case 'X':
		return w.register("d", 4)
	case 'A':
		return "%xa"
	case 'B':
		return "%xb"
	}
	return w.register(strings.ToLower(string(letter)), 3)
}

func (w *programWriter) instruction() {
	opcode, operands, _ := strings.Cut(w.one(w.forms...), " ")
	if strings.Contains(operands, "[A") {
		fmt.Fprintf(w, "and.b32 %%ra, %s, 63;\n", w.operand('R'))
		w.WriteString(w.one("mad.wide.u32 %xa, %ra, 16, %data;\n", "mad.wide.u32 %xa, %tid, 16, %data;\n",
			"mad.wide.u32 %xa, %tid, 48, %data;\n", "mov.u64 %xa, %data;\n",
			"mul.wide.u32 %xa, %tid, 16; sub.s64 %xa, %data, %xa; add.s64 %xa, %xa, 1024;\n"))
	}
	if w.IntN(6) == 0 {
		w.WriteString(w.one("@", "@!") + w.operand('P') + " ")
	}
	w.WriteString(opcode + " ")
	for i := range len(operands) {
		if c := operands[i]; strings.IndexByte("RSXYHFPAB", c) >= 0 {
			w.WriteString(w.operand(c))
		} else {
			w.WriteByte(c)
		}
	}
	w.WriteString(";\n")
}

// body writes n instructions, branches forward and loops, in so many others.
func (w *programWriter) body(n, depth int) {
	for range n {
		switch kind := w.IntN(14); {
		case kind == 0 && depth < 3:
			w.labels++
			label := w.labels
			fmt.Fprintf(w, "%s%s bra L%d;\n", w.one("@", "@!"), w.operand('P'), label)
			w.body(1+w.IntN(4), depth+1)
			fmt.Fprintf(w, "bra E%d; L%d:\n", label, label)
			w.body(w.IntN(4), depth+1)
			fmt.Fprintf(w, "E%d:\n", label)
		case kind == 1 && depth < 3:
			w.labels++
			label := w.labels
			fmt.Fprintf(w, "mov.u32 %%n%d, 0; L%d:\n", depth, label)
			w.body(1+w.IntN(4), depth+1)
			fmt.Fprintf(w, "add.u32 %%n%d, %%n%d, 1; and.b32 %%ra, %s, 3; setp.le.u32 %%pl, %%n%d, %%ra; @%%pl bra L%d;\n",
				depth, depth, w.operand('R'), depth, label)
		default:
			w.instruction()
		}
	}
}

// A program gives the same however it runs: by assembly and by loops, in whole warps and in one that lacks a lane, in
// short turns, and in disorder, because its threads share nothing.
func TestRandomProgramsRunAlike(t *testing.T) {
	forms := strings.Split(strings.ReplaceAll(strings.TrimSpace(randomInstructions), ";\n", "; "), "; ")
	forms[len(forms)-1] = strings.TrimSuffix(forms[len(forms)-1], ";")
	for seed := range uint64(150) {
		w := &programWriter{Rand: rand.New(rand.NewPCG(seed, 0)), forms: forms}
		w.body(30, 0)
		text := randomKernel(w.String())
		want := runRandom(t, text, 32, 1<<12, true, Config{})
		for name, got := range map[string][]byte{
			"by assembly":              runRandom(t, text, 32, 1<<12, false, Config{}),
			"with 31 lanes":            runRandom(t, text, 31, 1<<12, false, Config{}),
			"with 31 lanes, by loops":  runRandom(t, text, 31, 1<<12, true, Config{}),
			"3 instructions at a time": runRandom(t, text, 32, 3, false, Config{}),
			"in disorder":              runRandom(t, text, 32, 1<<12, false, Config{Disorder: rand.New(rand.NewPCG(seed, 1))}),
		} {
			if !bytes.Equal(got, want) {
				t.Fatalf("program %d %s differs from one by loops:\n%s", seed, name, text)
			}
		}
	}
}

// runRandom returns what 31 threads of a random program leave in memory.
func runRandom(t *testing.T, text string, threads, quantum int, loops bool, cfg Config) []byte {
	t.Helper()
	const perThread = 256
	var mem memory
	in, out := mem.allocate(4096), mem.allocate(32*perThread)
	for i := range mem.at(in) {
		mem.at(in)[i] = byte(i * i >> 3)
	}
	cfg.Threads, cfg.Params, cfg.Memory = threads, words(in, out), &mem
	g := launchKernel(t, compileWith(t, text, loops), "run", cfg)
	for {
		switch state, err := g.Turn(quantum); {
		case err != nil:
			t.Fatalf("%v:\n%s", err, text)
		case state == Done:
			return mem.at(out)[:31*perThread]
		}
	}
}
