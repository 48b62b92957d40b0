package check

import (
	"strings"
	"testing"
)

// Each asynchronous mechanism has no race with all of its fences and waits. Without one of them it has the race with
// both lines and the cause.
func TestAsynchronousMechanisms(t *testing.T) {
	const initialize = `@%first mbarrier.init.shared::cta.b64 [%bar], 1;`
	for name, m := range map[string]mechanism{
		"bulk load": {1, 64, `
			@%first mbarrier.init.shared::cta.b64 [%bar], 1;
			@%first fence.mbarrier_init.release.cluster;
			st.shared.u32 [%word], %tid;
			fence.proxy.async;
			bar.sync 0;
			@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;
			@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%data], 1024, [%bar];
			again: mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], 0;
			@!p bra again;
			ld.shared.u32 %a, [%word];`, []change{
			{4, "fence.proxy.async.global;", []string{"3-7 wrong proxy"}},
			{5, "", []string{"1-8 nothing orders them", "3-7 nothing orders them"}},
			{9, "", []string{"7-10 not waited for", "7-10 nothing orders them"}},
			{2, "", nil},
		}},
		"bulk load without fences of the mbarrier": {1, 32, `
			@%first mbarrier.init.shared::cta.b64 [%bar], 1;
			@%first fence.mbarrier_init.release.cluster;
			@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;
			@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%data], 1024, [%bar];
			again: mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], 0;
			@!p bra again;
			ld.shared.u32 %a, [%word];`, []change{
			{2, "", []string{"1-4 wrong proxy"}},
			{5, "again: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%bar], 0;", []string{"4-7 not waited for"}},
		}},
		"bulk store": {1, 64, `
			st.shared.u32 [%word], %tid;
			fence.proxy.async.shared::cta;
			bar.sync 0;
			@%first cp.async.bulk.global.shared::cta.bulk_group [%data], [%tile], 256;
			@%first cp.async.bulk.commit_group;
			@%first cp.async.bulk.wait_group.read 0;
			bar.sync 0;
			st.shared.u32 [%word], %a;
			@%first cp.async.bulk.wait_group 0;
			bar.sync 0;
			ld.global.u32 %a, [%data];`, []change{
			{2, "", []string{"1-4 wrong proxy"}},
			{3, "", []string{"1-4 nothing orders them"}},
			{6, "", []string{"4-8 not waited for"}},
			{5, "", []string{"4-11 not waited for", "4-8 not waited for"}},
			{9, "", []string{"4-11 not waited for"}},
			{9, "@%first cp.async.bulk.wait_group 1;", []string{"4-11 not waited for"}},
			{10, "", []string{"4-11 not waited for"}},
		}},
		"bulk load of what the kernel has stored": {
			1, 32, initialize + `
			fence.mbarrier_init.release.cluster;
			st.global.u32 [%at], %tid;
			fence.proxy.async.global;
			@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;
			@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%data], 512, [%bar];`,
			[]change{{4, "fence.proxy.async.shared::cta;", []string{"3-6 wrong proxy"}}},
		},
		"bulk reduction": {1, 64, `
			st.shared.u32 [%word], %tid;
			fence.proxy.async;
			bar.sync 0;
			@%first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%data], [%tile], 256;
			@%first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%data], [%tile], 256;
			@%first cp.async.bulk.commit_group;
			@%first cp.async.bulk.wait_group 0;
			bar.sync 0;
			ld.global.u32 %a, [%data];`, []change{
			{5, "@%first cp.async.bulk.global.shared::cta.bulk_group [%data], [%tile], 256;", []string{"4-5 not waited for"}},
			{7, "", []string{"5-9 not waited for"}},
		}},
		"bulk store that the end of the grid waits for": {1, 32, `
			st.shared.u32 [%word], %tid;
			fence.proxy.async;
			@%first cp.async.bulk.global.shared::cta.bulk_group [%data], [%tile], 128;
			@%first cp.async.bulk.commit_group;
			@%first cp.async.bulk.wait_group.read 0;`, []change{{2, "", []string{"1-3 wrong proxy"}}}},
		"small copies of what the kernel has stored": {1, 32, `
			st.shared.u32 [%row], %tid;
			st.global.u32 [%at], %tid;
			cp.async.cg.shared.global [%row], [%at], 16;
			cp.async.wait_all;
			ld.shared.u32 %a, [%row];`, []change{{4, "cp.async.commit_group;", []string{"3-5 not waited for"}}}},
		"small copies": {1, 64, `
			cp.async.cg.shared.global [%row], [%at], 16;
			cp.async.commit_group;
			cp.async.wait_group 0;
			bar.sync 0;
			ld.shared.u32 %a, [%word];`, []change{
			{2, "", []string{"1-5 not waited for"}},
			{3, "cp.async.wait_group 1;", []string{"1-5 not waited for"}},
			{3, "cp.async.wait_all;", nil},
			{4, "", []string{"1-5 nothing orders them"}},
		}},
		"small copies that an mbarrier waits for": {1, 64, `
			@%first mbarrier.init.shared::cta.b64 [%bar], 64;
			bar.sync 0;
			cp.async.cg.shared.global [%row], [%at], 16;
			cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];
			again: mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], 0;
			@!p bra again;
			ld.shared.u32 %a, [%word];`, []change{
			{6, "", []string{"3-7 not waited for", "3-7 nothing orders them"}},
		}},
		"arrivals": {1, 64, `
			@%first mbarrier.init.shared::cta.b64 [%bar], 64;
			bar.sync 0;
			st.shared.u32 [%word], %tid;
			mbarrier.arrive.shared::cta.b64 _, [%bar];
			again: mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], 0;
			@!p bra again;
			ld.shared.u32 %a, [%tile];`, []change{
			{4, "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%bar];", []string{"3-7 nothing orders them"}},
			{5, "again: mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%bar], 0;", []string{
				"3-7 lanes of a warp are not ordered", "3-7 nothing orders them",
			}},
		}},
		"asynchronous stores": {1, 32, initialize + `
			mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 4;
			st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%word], %tid, [%bar];
			again: mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], 0;
			@!p bra again;
			ld.shared.u32 %a, [%word];`, []change{
			{5, "", []string{"3-6 not waited for"}},
		}},
	} {
		if name == "asynchronous stores" { // each lane stores and arrives
			m.steps = strings.Replace(m.steps, "[%bar], 1;", "[%bar], 32;", 1)
		}
		t.Run(name, m.test)
	}
}
