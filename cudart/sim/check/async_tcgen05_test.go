package check

import (
	"strings"
	"testing"
)

// Tensor cores of the 5th generation read shared memory through the async proxy, and tell of their end by an mbarrier.
func TestMechanismsOfTensorMemory(t *testing.T) {
	const steps = `
		@%first mbarrier.init.shared::cta.b64 [%bar], 1;
		setp.ge.u32 p, %tid, 32; @p bra allocated; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%bar+8], 512; allocated:
		st.shared.u32 [%word], 0;
		fence.proxy.async.shared::cta;
		bar.sync 0;
		ld.shared.u32 %d, [%bar+8]; or.b64 %descA, %descA, 0x400000000000; add.u64 %descB, %descA, 128;
		OPERATION
		@%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
		again: mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], 0;
		@!p bra again;
		st.shared.u32 [%word], %tid;
		bar.sync 0; setp.ge.u32 p, %tid, 32; @p bra out; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 512; out:`
	early := []string{"7-11 not waited for", "7-11 nothing orders them"}
	for name, operation := range map[string]string{
		"mma": "mov.u32 %a, 0x04020010; @%first tcgen05.mma.cta_group::1.kind::f16 [%d], %descA, %descB, %a, always;",
		"cp":  "@%first tcgen05.cp.cta_group::1.128x128b [%d], %descA;",
	} {
		m := mechanism{1, 128, strings.Replace(steps, "OPERATION", operation, 1), []change{
			{4, "", []string{"3-7 wrong proxy"}},
			{4, "fence.proxy.async.global;", []string{"3-7 wrong proxy"}},
			{10, "", early},
			{9, "again: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%bar], 0;", early},
			{11, "st.shared.u32 [%word+4096], %tid;", nil},
		}}
		t.Run(name, m.test)
	}
}
