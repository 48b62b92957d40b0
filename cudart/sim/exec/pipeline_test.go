package exec

import (
	"strings"
	"testing"
)

// pipeline is what a Hopper GEMM does: in each block of a cluster a producer fills
// a ring of two stages, half of each in both blocks by multicast, and 32 consumers
// add up what arrives, 8 stages in all. A stage is 8 rows of 32 words, whose halves begin
// 1024 bytes apart; the tensor has four of them, so that each is there twice.
//
// A stage is full when its bytes are there, and empty when the consumers of both
// blocks have read it.
const pipeline = `
	.reg .b32 %it, %stage, %phase, %full, %empty, %x, %y, %at, %end, %sum, %other, %remote, %rank;
	.shared .align 8 .b8 fulls[16];
	.shared .align 8 .b8 empties[16];
	mov.u32 %rank, %cluster_ctarank;
	xor.b32 %other, %rank, 1;
	@!first bra ready;
	mbarrier.init.shared::cta.b64 [fulls], 1;
	mbarrier.init.shared::cta.b64 [fulls+8], 1;
	mbarrier.init.shared::cta.b64 [empties], 2;
	mbarrier.init.shared::cta.b64 [empties+8], 2;
	fence.mbarrier_init.release.cluster;
ready:
	barrier.cluster.arrive;
	barrier.cluster.wait;
	mov.u32 %it, 0;
	mov.u32 %sum, 0;
	setp.ge.u32 p, %thread, 32;
	@p bra consume;
	@!first bra done;
produce:
	call_stage
	xor.b32 %phase, %phase, 1;
wait_empty:
	mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%empty], %phase;
	@!p bra wait_empty;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 1024;
	and.b32 %x, %it, 1;
	shl.b32 %x, %x, 5;
	and.b32 %y, %it, 2;
	shl.b32 %y, %y, 2;
	mad.lo.u32 %y, %rank, 4, %y;
	mad.lo.u32 %at, %rank, 1024, %at;
	cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%at], [%map, {%x, %y}], [%full], %ranks;
	add.u32 %it, %it, 1;
	setp.lt.u32 p, %it, 8;
	@p bra produce;
	bra done;
consume:
	call_stage
wait_full:
	mbarrier.try_wait.parity.shared::cta.b64 p, [%full], %phase;
	@!p bra wait_full;
	EARLY
	sub.u32 %v, %thread, 32;
	mad.lo.u32 %at, %v, 4, %at;
	add.u32 %end, %at, 512;
add:
	ld.shared.u32 %x, [%at];
	add.u32 %sum, %sum, %x;
	ld.shared.u32 %x, [%at+1024];
	add.u32 %sum, %sum, %x;
	add.u32 %at, %at, 128;
	setp.lt.u32 p, %at, %end;
	@p bra add;
	LATE
	add.u32 %it, %it, 1;
	setp.lt.u32 p, %it, 8;
	@p bra consume;
	mad.wide.u32 %out, %rank, 4, %out;
	red.global.add.u32 [%out], %sum;
done:
	barrier.cluster.arrive;
	barrier.cluster.wait;
`

// stageOf finds stage, phase, barriers and memory of iteration %it.
const stageOf = `
	and.b32 %stage, %it, 1;
	shr.u32 %phase, %it, 1;
	and.b32 %phase, %phase, 1;
	mov.u32 %full, fulls;
	mad.lo.u32 %full, %stage, 8, %full;
	mov.u32 %empty, empties;
	mad.lo.u32 %empty, %stage, 8, %empty;
	mad.lo.u32 %at, %stage, 2048, %tile;
`

// giveBack tells both producers that this block's consumers are done with a stage.
const giveBack = `
	bar.warp.sync 0xffffffff;
	elect.sync _|p, 0xffffffff;
	mapa.shared::cluster.u32 %remote, %empty, %other;
	@p mbarrier.arrive.shared::cta.b64 _, [%empty];
	@p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%remote];
`

func TestPipelineWithMulticast(t *testing.T) {
	body := func(early, late string) string {
		return strings.NewReplacer("call_stage", stageOf, "EARLY", early, "LATE", late).Replace(pipeline)
	}
	const want = 2 * 1024 * 1025 / 2
	for i, disorder := range seeds(40) {
		if _, out, err := runBox(t, 2, 64, disorder, body("", giveBack)); err != nil || out[0] != want || out[1] != want {
			t.Fatalf("seed %d: sums %d and %d, want %d; %v", i, out[0], out[1], want, err)
		}
	}
	wrong := 0
	for _, disorder := range seeds(40) {
		_, out, err := runBox(t, 2, 64, disorder, body(giveBack, ""))
		if err != nil {
			t.Fatal(err)
		}
		if out[0] != want || out[1] != want {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("stages that were given back before they were read were never overwritten")
	}
}
