package exec

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// randomRegisters is how many registers random programs have of each kind: numbers of 32, 64
// and 16 bits, and predicates.
const randomRegisters = 5

// randomForms are their instructions. R, D, H and P stand for such registers, r and d for
// registers or literals, n for a shift.
var randomForms = strings.Split(strings.ReplaceAll(strings.TrimSpace(`
add.u32 R, r, r; add.s64 D, d, d; add.u64 D, D, d; sub.s32 R, r, r; sub.u64 D, d, d
min.u32 R, r, r; max.s32 R, r, r; min.s64 D, d, d; max.u64 D, d, d
mul.lo.u32 R, r, r; mul.lo.s64 D, d, d; mad.lo.s32 R, r, r, r; mad.lo.u64 D, d, d, d
mul.wide.u32 D, r, r; mul.wide.s32 D, r, r; mad.wide.u32 D, r, r, d; mad.wide.s32 D, r, r, d
shl.b32 R, r, n; shl.b64 D, d, n; shr.u32 R, r, n; shr.s64 D, d, n
and.b32 R, r, r; or.b32 R, r, r; xor.b64 D, d, d; mov.b32 R, r; mov.b64 D, d
cvt.u64.u32 D, R; cvt.s64.s32 D, R; cvt.u32.u64 R, D; cvt.u32.u16 R, H; cvt.u16.u32 H, R
mov.b64 D, {R, R}; mov.b64 {R, R}, D; mov.b32 R, {H, H}; mov.b32 {H, H}, R
setp.lt.u32 P, r, r; setp.ge.s32 P, r, r; setp.gt.u64 P, d, d; setp.le.s64 P, d, d; setp.eq.u32 P, r, r; setp.ne.s64 P, d, d
selp.b32 R, r, r, P; selp.b64 D, d, d, P
`), "\n", "; "), "; ")

// randomProgram is n instructions. Some are guarded, so that registers become irregular.
func randomProgram(r *rand.Rand, n int) string {
	pick := func(names ...string) string { return names[r.IntN(len(names))] }
	operand := func(kind string) string {
		lower := strings.ToLower(kind)
		switch {
		case kind == "n":
			return pick("2", "31", "32", "63", fmt.Sprintf("%%r%d", r.IntN(randomRegisters)))
		case kind == lower && r.IntN(4) == 0:
			return pick("0", "1", "4", "7", "16", "-1", "-16", "2147483647")
		}
		return fmt.Sprintf("%%%s%d", lower, r.IntN(randomRegisters))
	}
	var text strings.Builder
	for range n {
		if r.IntN(4) == 0 {
			text.WriteString(pick("@", "@!") + operand("P") + " ")
		}
		text.WriteString(regexp.MustCompile(`\b[RDHPrdn]\b`).ReplaceAllStringFunc(pick(randomForms...), operand) + ";\n")
	}
	return text.String()
}

// randomKernel wraps a program: all threads read what is at same, each one 32 bytes of its own
// from each, and each one writes its registers to 256 bytes at out.
func randomKernel(program string) string {
	var start, end strings.Builder
	for i := range randomRegisters {
		fmt.Fprintf(&start, "setp.gt.u32 %%p%d, %%thread, %d;\n", i, 8*i)
		fmt.Fprintf(&end, "st.global.u16 [%%out+%d], %%h%d; selp.u32 %%x, 1, 0, %%p%d; st.global.u32 [%%out+%d], %%x;\n",
			128+2*i, i, i, 160+4*i)
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
			if err := finish(t, launchKernel(t, p, "run",
				Config{Threads: threads, Params: words(same, each, out), Memory: &mem})); err != nil {
				t.Fatalf("%v\n%s", err, program)
			}
			return mem.at(out)[:31*256]
		}
		if diff := cmp.Diff(run(31), run(32)); diff != "" {
			t.Fatalf("seed %d: a warp with all lanes gets something else (+):\n%s\n%s", seed, diff, program)
		}
	}
}
