package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// wgmmaForm is one wgmma.mma_async. A block has A, B, and the accumulators of 128 threads, register
// by register; of a sparse A also 128 registers of metadata. A and B lie in shared memory in rows of 32 bytes, without
// a swizzle.
type wgmmaForm struct {
	name, d, a, b string
	n             int
	registers     bool // A comes from there
	more          string
	metadata      *sparseForm // nil if A is dense; with it rows of B have 64 bytes
}

const wgmmaBytesOfA = 64 * 32

func (f wgmmaForm) accumulator() operand {
	return operand{f.d, f.n / 2 * operandTypes[f.d].bits / 32}
}

func (f wgmmaForm) bytesOfB() int {
	if f.metadata != nil {
		return 64 * f.n
	}
	return 32 * f.n
}

func (f wgmmaForm) blockBytes() int {
	n := wgmmaBytesOfA + f.bytesOfB() + 512*f.accumulator().n
	if f.metadata != nil {
		n += 512
	}
	return n
}

func (f wgmmaForm) text() string {
	var load, store strings.Builder
	d := f.accumulator()
	first := wgmmaBytesOfA + f.bytesOfB()
	for i := range d.n {
		fmt.Fprintf(&load, "\tld.global.b32 %%d%d, [%%own+%d];\n", i, first+512*i)
		fmt.Fprintf(&store, "\tst.global.b32 [%%own+%d], %%d%d;\n", first+512*i, i)
	}
	more, strideOfB := f.more, 256
	if f.metadata != nil {
		fmt.Fprintf(&load, "\tld.global.b32 %%e, [%%own+%d];\n", first+512*d.n)
		more, strideOfB = fmt.Sprintf("%%e, %d, %s", f.metadata.selector, more), 512
	}
	a := "%descA"
	if f.registers {
		a = operand{"s32", 4}.list("x")
	}
	return fmt.Sprintf(`.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 blocks)
{
	.reg .b64 %%at, %%own, %%from, %%descA, %%descB;
	.reg .b32 %%thread, %%to, %%i, %%e, %%x<4>, %%y<4>, %%d<%d>;
	.reg .pred %%p, %%no;
	.shared .align 1024 .b8 tile[%d];
	ld.param.u64 %%at, [blocks];
	cvta.to.global.u64 %%at, %%at;
	mov.u32 %%i, %%ctaid.x;
	mad.wide.u32 %%at, %%i, %d, %%at;
	mov.u32 %%thread, %%tid.x;
	mad.wide.u32 %%own, %%thread, 4, %%at;
	mad.wide.u32 %%from, %%thread, 16, %%at;
	mov.u32 %%to, tile;
	shr.u32 %%i, %%to, 4;
	cvt.u64.u32 %%descA, %%i;
	or.b64 %%descB, %%descA, %#x; // 128 bytes to the next 16 along K, and the stride to the next 8 rows
	or.b64 %%descA, %%descA, 0x1000080000;
	add.u64 %%descB, %%descB, 128;
	mad.lo.u32 %%to, %%thread, 16, %%to;
	ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%from];
	st.shared.v4.b32 [%%to], {%%x0, %%x1, %%x2, %%x3};
	setp.ge.u32 %%p, %%thread, %d;
	@%%p bra filled;
	ld.global.v4.b32 {%%y0, %%y1, %%y2, %%y3}, [%%from+2048];
	st.shared.v4.b32 [%%to+2048], {%%y0, %%y1, %%y2, %%y3};
filled:
%s	fence.proxy.async.shared::cta;
	bar.sync 0;
	setp.ge.u32 %%p, %%thread, 0;
	setp.lt.u32 %%no, %%thread, 0;
	wgmma.fence.sync.aligned;
	%s %s, %s, %%descB, %s;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
%s	ret;
}
`, d.n, wgmmaBytesOfA+f.bytesOfB(), f.blockBytes(), strideOfB>>4<<32|128>>4<<16, f.bytesOfB()/16, load.String(), f.name,
		d.list("d"), a, more, store.String())
}

func (f wgmmaForm) data(r *rand.Rand, ofEach int) []byte {
	var out []byte
	for range ofEach {
		for _, kind := range productKinds() {
			out = kind.fill(r, out, operand{f.a, wgmmaBytesOfA / 4}, kind.low, kind.high)
			out = kind.fill(r, out, operand{f.b, f.bytesOfB() / 4}, kind.low, kind.high)
			out = kind.fill(r, out, operand{f.d, 128 * f.accumulator().n}, kind.start[0], kind.start[1])
			for thread := 0; f.metadata != nil && thread < 128; thread++ {
				out = f.metadata.append(r, out)
			}
		}
	}
	return out
}

// wgmmaForms are all combinations of types, with A from shared memory and from registers.
func wgmmaForms() (all []wgmmaForm) {
	number := 0
	add := func(d, a, b, modifiers string, literals int) {
		k := 256 / operandTypes[a].bits
		for _, registers := range []bool{false, true} {
			number++
			n := []int{8, 16, 24}[number%3]
			more := []string{"%p", "%no", "!%no"}[number%3]
			if literals >= 2 {
				more += []string{", 1, 1", ", -1, 1", ", -1, -1", ", 1, -1"}[number%4]
			}
			if literals == 4 && !registers {
				more += ", 0"
			}
			if literals == 4 {
				more += ", 0"
			}
			name := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s%s", n, k, d, a, b, modifiers)
			all = append(all, wgmmaForm{name, d, a, b, n, registers, more, nil})
			if a != "b1" {
				all = append(all, newSparseWGMMA(name, wgmmaForm{"", d, a, b, n, registers, more, nil}, k, number))
			}
		}
	}
	for range 2 {
		add("f16", "f16", "f16", "", 4)
		add("f32", "f16", "f16", "", 4)
		add("f32", "bf16", "bf16", "", 4)
		add("f32", "tf32", "tf32", "", 2)
		for _, a := range []string{"e4m3", "e5m2"} {
			for _, b := range []string{"e4m3", "e5m2"} {
				add("f16", a, b, "", 2)
				add("f32", a, b, "", 2)
			}
		}
		for _, a := range []string{"s8", "u8"} {
			for _, b := range []string{"s8", "u8"} {
				add("s32", a, b, "", 0)
				add("s32", a, b, ".satfinite", 0)
			}
		}
		add("s32", "b1", "b1", ".and.popc", 0)
	}
	return all
}
