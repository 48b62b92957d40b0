package sim

import (
	"fmt"
	"strings"
)

// tensorPTX is kernels that load a box to shared memory and write what is there
// then to data, or store what they take from data. A block of 128 threads gets { u64
// map, data; s32 corner[5]; u32 bytes of the box, its offset in shared memory, bytes
// of data, rows of the box }. Those on multicast run in clusters of 2, whose blocks
// load a box each, one below the other, for both.
func tensorPTX() string {
	var text strings.Builder
	text.WriteString(".version 8.0\n.target sm_90\n.address_size 64\n")
	for rank := 1; rank <= 5; rank++ {
		corner := strings.Join([]string{"%x", "%y", "%z", "%u", "%v"}[:rank], ", ")
		load := fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%%dst], "+
			"[%%map, {%s}], [%%bar];", rank, corner)
		store := fmt.Sprintf("cp.async.bulk.tensor.%dd.global.shared::cta.tile.bulk_group [%%map, {%s}], [%%dst];", rank,
			corner)
		text.WriteString(tensorKernel(fmt.Sprintf("load_%d", rank), partFill+partStart+partArrive+load+partWait+partDump))
		text.WriteString(tensorKernel(fmt.Sprintf("store_%d", rank), partTake+partReady+partFirst+store+partCommit))
	}
	const multicast = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" +
		".multicast::cluster [%dst], [%map, {%x, %y}], [%bar], %ranks;"
	text.WriteString(tensorKernel("multicast",
		partHalve+partFill+partStart+partMeet+"shl.b32 %bytes, %bytes, 1;\n"+partArrive+multicast+partWait+partDump+partMeet))
	return text.String()
}

// The parts of kernels.
const (
	partFill = `
	shl.b32 %i, %thread, 2;
fill:
	setp.ge.u32 %p, %i, %total;
	@%p bra filled;
	add.u32 %at, %tile, %i;
	st.shared.b32 [%at], -286331154;
	add.u32 %i, %i, 512;
	bra fill;
filled:
`
	partTake = `
	shl.b32 %i, %thread, 2;
fill:
	setp.ge.u32 %p, %i, %total;
	@%p bra filled;
	cvt.u64.u32 %far, %i;
	add.u64 %far, %far, %data;
	ld.global.b32 %word, [%far];
	add.u32 %at, %tile, %i;
	st.shared.b32 [%at], %word;
	add.u32 %i, %i, 512;
	bra fill;
filled:
`
	partReady = `
	fence.proxy.async.shared::cta;
	bar.sync 0;
`
	partFirst = `
	@!%first bra end;
`
	partStart = `
	@!%first bra begun;
	mbarrier.init.shared::cta.b64 [%bar], 1;
	fence.mbarrier_init.release.cluster;
begun:
` + partReady
	partArrive = `
	@!%first bra wait;
	mbarrier.arrive.expect_tx.shared::cta.b64 %state, [%bar], %bytes;
`
	partWait = `
wait:
	mbarrier.try_wait.parity.shared::cta.b64 %p, [%bar], 0;
	@!%p bra wait;
`
	partDump = `
	shl.b32 %i, %thread, 2;
dump:
	setp.ge.u32 %p, %i, %total;
	@%p bra dumped;
	add.u32 %at, %tile, %i;
	ld.shared.b32 %word, [%at];
	cvt.u64.u32 %far, %i;
	add.u64 %far, %far, %data;
	st.global.b32 [%far], %word;
	add.u32 %i, %i, 512;
	bra dump;
dumped:
`
	partCommit = `
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;
end:
`
	partMeet = `
	barrier.cluster.arrive.release;
	barrier.cluster.wait.acquire;
`
	partHalve = `
	mov.u32 %i, %cluster_ctarank;
	mad.lo.s32 %y, %i, %rows, %y;
	mad.lo.u32 %dst, %i, %bytes, %dst;
	mul.wide.u32 %far, %i, %total;
	add.u64 %data, %data, %far;
	mov.u16 %ranks, 3;
`
)

func tensorKernel(name, body string) string {
	return fmt.Sprintf(`
.visible .entry %s(.param .align 8 .b8 block[56])
{
	.reg .b64 %%map, %%data, %%far, %%state;
	.reg .b32 %%x, %%y, %%z, %%u, %%v, %%bytes, %%offset, %%total, %%rows, %%thread, %%tile, %%dst, %%bar, %%i, %%at, %%word;
	.reg .b16 %%ranks;
	.reg .pred %%first, %%p;
	.shared .align 1024 .b8 tile[36864];
	.shared .align 8 .b8 barrier[8];
	ld.param.u64 %%map, [block];
	ld.param.u64 %%data, [block+8];
	cvta.to.global.u64 %%data, %%data;
	ld.param.u32 %%x, [block+16];
	ld.param.u32 %%y, [block+20];
	ld.param.u32 %%z, [block+24];
	ld.param.u32 %%u, [block+28];
	ld.param.u32 %%v, [block+32];
	ld.param.u32 %%bytes, [block+36];
	ld.param.u32 %%offset, [block+40];
	ld.param.u32 %%total, [block+44];
	ld.param.u32 %%rows, [block+48];
	mov.u32 %%tile, tile;
	add.u32 %%dst, %%tile, %%offset;
	mov.u32 %%bar, barrier;
	mov.u32 %%thread, %%tid.x;
	setp.eq.u32 %%first, %%thread, 0;
	%s
	ret;
}
`, name, body)
}
