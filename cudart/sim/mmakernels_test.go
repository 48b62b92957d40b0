package sim

import (
	"encoding/binary"
	"fmt"

	"gpurun/cudart/sim/tensorcore"
)

// mmaKernel multiplies once in each block.
type mmaKernel struct {
	text               string
	format             tensorcore.Format
	rows, columns, k   int
	threads, dataBytes int // of one product
	pack               func(p product, to []byte)
	// result is where the element of d in a row and column lies.
	result func(row, column int) int
}

// laneKernel is a kernel of a warp, whose lanes have 64 bytes each: words 0 to 3
// are loaded to %a0 and so on, 4 and 5 to %b0 and %b1, 6 to 9 to %c0, and %d0 is stored
// to words 10 to 13. %at is the address of these, and %own of 16 bytes of shared memory.
func laneKernel(body string) string {
	return `.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 lanes)
{
	.reg .b64 %at;
	.reg .b32 %lane, %own, %i, %a<4>, %b<2>, %d<4>;
	.reg .f32 %c<4>, %f<4>;
	.shared .align 128 .b8 tile[512];
	ld.param.u64 %at, [lanes];
	cvta.to.global.u64 %at, %at;
	mov.u32 %lane, %tid.x;
	mov.u32 %own, tile;
	mad.lo.u32 %own, %lane, 16, %own;
	mov.u32 %i, %ctaid.x;
	mad.lo.u32 %lane, %i, 32, %lane;
	mad.wide.u32 %at, %lane, 64, %at;
	ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%at];
	ld.global.v2.b32 {%b0, %b1}, [%at+16];
	ld.global.v2.f32 {%c0, %c1}, [%at+24];
	ld.global.v2.f32 {%c2, %c3}, [%at+32];
	mov.b32 %d0, 0;
	mov.b32 %d1, 0;
	mov.b32 %d2, 0;
	mov.b32 %d3, 0;
	` + body + `
	st.global.v2.b32 [%at+40], {%d0, %d1};
	st.global.v2.b32 [%at+48], {%d2, %d3};
	ret;
}
`
}

// newMMA is mma.sync.aligned.m16n8kK on one of the formats.
func newMMA(f tensorcore.Format, k int) *mmaKernel {
	typ, a, b := [...]string{"f16", "bf16"}[f], "%a0, %a1, %a2, %a3", "%b0, %b1"
	if k == 8 {
		a, b = "%a0, %a1", "%b0"
	}
	m := &mmaKernel{format: f, rows: 16, columns: 8, k: k, threads: 32, dataBytes: 32 * 64}
	m.text = laneKernel(fmt.Sprintf(`mma.sync.aligned.m16n8k%d.row.col.f32.%s.%s.f32 {%%f0, %%f1, %%f2, %%f3}, {%s}, {%s}, {%%c0, %%c1, %%c2, %%c3};
	mov.b32 %%d0, %%f0;
	mov.b32 %%d1, %%f1;
	mov.b32 %%d2, %%f2;
	mov.b32 %%d3, %%f3;`, k, typ, typ, a, b))
	m.pack = func(p product, to []byte) {
		for k := range m.k {
			for row := range 16 {
				lane, word := row%8*4+k%8/2, k/8*2+row/8
				binary.LittleEndian.PutUint16(to[64*lane+4*word+k%2*2:], p.a[row][k])
			}
			for column := range 8 {
				lane, word := column*4+k%8/2, 4+k/8
				binary.LittleEndian.PutUint16(to[64*lane+4*word+k%2*2:], p.b[column][k])
			}
		}
		for i := range 16 * 8 {
			binary.LittleEndian.PutUint32(to[m.result(i/8, i%8)-16:], p.c[i/8][i%8])
		}
	}
	m.result = func(row, column int) int { return 64*(row%8*4+column/2) + 4*(10+row/8*2+column%2) }
	return m
}

// newWGMMA is wgmma.mma_async of 8 columns, from shared memory without swizzling.
// A product is A, B, and four accumulators of every thread.
func newWGMMA(f tensorcore.Format) *mmaKernel {
	const sizeOfA, sizeOfB, dataBytes = 64 * 16 * 2, 8 * 16 * 2, 64*16*2 + 8*16*2 + 4*4*128
	typ := [...]string{"f16", "bf16"}[f]
	m := &mmaKernel{format: f, rows: 64, columns: 8, k: 16, threads: 128, dataBytes: dataBytes}
	m.text = fmt.Sprintf(`.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 products)
{
	.reg .b64 %%at, %%descA, %%descB;
	.reg .b32 %%thread, %%own, %%i, %%x<4>;
	.reg .f32 %%f<4>;
	.reg .pred %%p;
	.shared .align 1024 .b8 tile[4096];
	ld.param.u64 %%at, [products];
	cvta.to.global.u64 %%at, %%at;
	mov.u32 %%i, %%ctaid.x;
	mad.wide.u32 %%at, %%i, %d, %%at;
	mov.u32 %%thread, %%tid.x;
	mad.wide.u32 %%at, %%thread, 16, %%at;
	mov.u32 %%own, tile;
	shr.u32 %%i, %%own, 4;
	cvt.u64.u32 %%descA, %%i;
	or.b64 %%descA, %%descA, 0x1000080000; // 128 bytes to the next 8 along K, 256 to the next 8 rows
	add.u64 %%descB, %%descA, 128;
	mad.lo.u32 %%own, %%thread, 16, %%own;
	ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%at];
	st.shared.v4.b32 [%%own], {%%x0, %%x1, %%x2, %%x3};
	setp.gt.u32 %%p, %%thread, 15;
	@%%p bra filled;
	ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%at+%d];
	st.shared.v4.b32 [%%own+%d], {%%x0, %%x1, %%x2, %%x3};
filled:
	fence.proxy.async.shared::cta;
	bar.sync 0;
	ld.global.v4.f32 {%%f0, %%f1, %%f2, %%f3}, [%%at+%d];
	setp.ge.u32 %%p, %%thread, 0;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n8k16.f32.%s.%s {%%f0, %%f1, %%f2, %%f3}, %%descA, %%descB, %%p, 1, 1, 0, 0;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	st.global.v4.f32 [%%at+%d], {%%f0, %%f1, %%f2, %%f3};
	ret;
}
`, dataBytes, sizeOfA, sizeOfA, sizeOfA+sizeOfB, typ, typ, sizeOfA+sizeOfB)
	put := func(to []byte, vectors [][]uint16) { // 8 x 8 elements one after the other
		for i, v := range vectors {
			for k, x := range v {
				binary.LittleEndian.PutUint16(to[i/8*256+k/8*128+i%8*16+k%8*2:], x)
			}
		}
	}
	m.pack = func(p product, to []byte) {
		put(to, p.a)
		put(to[sizeOfA:], p.b)
		for i := range 64 * 8 {
			binary.LittleEndian.PutUint32(to[m.result(i/8, i%8):], p.c[i/8][i%8])
		}
	}
	m.result = func(row, column int) int {
		thread, register := row/16*32+row%8*4+column/2, row%16/8*2+column%2
		return sizeOfA + sizeOfB + 16*thread + 4*register
	}
	return m
}

func mmaKernels() []*mmaKernel {
	var all []*mmaKernel
	for _, f := range []tensorcore.Format{tensorcore.Half, tensorcore.BFloat16} {
		all = append(all, newMMA(f, 8), newMMA(f, 16), newWGMMA(f))
	}
	return all
}
