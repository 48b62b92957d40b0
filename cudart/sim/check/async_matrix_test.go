package check

import "testing"

// Matrices in shared memory, tensors, multicast addresses and loads by .nc: each mechanism has no race. Without one of
// its fences, barriers or waits it has the race with both lines and the cause.
func TestMechanismsOfMatrices(t *testing.T) {
	for name, m := range map[string]mechanism{
		"ldmatrix and stmatrix": {1, 64, `
			st.shared.v4.u32 [%row], {%tid, %tid, %tid, %tid};
			bar.sync 0;
			ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a, %b, %c, %d}, [%other];
			bar.sync 0;
			stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row], {%a, %b, %c, %d};`, []change{
			{2, "", []string{"1-3 nothing orders them"}},
			{4, "", []string{"3-5 nothing orders them"}},
		}},
		"ldmatrix of some rows": {1, 64, `
			st.shared.u32 [%row+256], %tid;
			ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%a, %b}, [%other];`, []change{
			{2, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a, %b, %c, %d}, [%other];", []string{"1-2 nothing orders them"}},
		}},
		"wmma": {1, 64, `
			st.shared.u32 [%word], %tid;
			bar.sync 0;
			wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%tile], 16;
			bar.sync 0;
			@%first bra store;
			st.shared.u32 [%word+2048], %tid;
			store:`, []change{
			{2, "", []string{"1-3 nothing orders them"}},
			{4, "st.shared.u32 [%word], %tid;", []string{"3-4 nothing orders them"}},
		}},
		"wgmma": {1, 128, `
			st.shared.u32 [%word], 0;
			fence.proxy.async.shared::cta;
			bar.sync 0;
			wgmma.fence.sync.aligned;
			wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %descA, %descB, always, 1, 1, 0, 0;
			wgmma.commit_group.sync.aligned;
			wgmma.wait_group.sync.aligned 0;
			bar.sync 0;
			st.shared.u32 [%word], %tid;`, []change{
			{2, "", []string{"1-5 wrong proxy"}},
			{2, "fence.proxy.async.global;", []string{"1-5 wrong proxy"}},
			{3, "", []string{"1-5 nothing orders them"}},
			{7, "wgmma.wait_group.sync.aligned 1;", []string{"5-9 not waited for"}},
			{8, "", nil}, // a warp that has waited has waited for all four
			{9, "st.shared.u32 [%word+2048], %tid;", nil},
			{7, "st.shared.u32 [%word+2048], %tid;", []string{
				"5-7 not waited for", "5-7 nothing orders them", "5-9 not waited for",
			}},
		}},
		"tensor load": {1, 32, `
			@%first mbarrier.init.shared::cta.b64 [%bar], 1;
			@%first fence.mbarrier_init.release.cluster;
			@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;
			@%first cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%tile], [%map, {0, 0}], [%bar];
			again: mbarrier.try_wait.parity.shared::cta.b64 p, [%bar], 0;
			@!p bra again;
			ld.shared.u32 %a, [%word];`, []change{
			{3, "@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024; st.global.u32 [%at], 1;", []string{
				"3-4 wrong proxy",
			}},
			{6, "", []string{"4-7 not waited for"}},
		}},
		"tensor store": {1, 32, `
			st.shared.u32 [%word], %tid;
			fence.proxy.async.shared::cta;
			@%first cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {0, 0}], [%tile];
			@%first cp.async.bulk.commit_group;
			@%first cp.async.bulk.wait_group 0;
			ld.global.u32 %a, [%at];`, []change{
			{2, "", []string{"1-3 wrong proxy"}},
			{5, "@%first cp.async.bulk.wait_group.read 0;", []string{"3-6 not waited for"}},
		}},
		"multicast": {2, 32, `
			@%sends multimem.st.weak.global.v4.f32 [%slot], {%f0, %f1, %f2, %f3};
			bar.warp.sync 0xffffffff; @%signals multimem.red.release.sys.global.add.u32 [%group+8192], 1;
			again: @%receives ld.acquire.sys.global.u32 %a, [%data+8192];
			@%receives setp.eq.u32 p, %a, 0;
			@p bra again; bar.warp.sync 0xffffffff;
			fence.proxy.alias;
			@%receives ld.global.u32 %b, [%at];
			@%receives multimem.ld_reduce.weak.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%slot];`, []change{
			{6, "fence.proxy.async;", []string{"1-7 wrong proxy"}},
			{2, "bar.warp.sync 0xffffffff; @%signals multimem.red.relaxed.sys.global.add.u32 [%group+8192], 1;", []string{
				"1-7 nothing orders them", "1-8 nothing orders them", "1-download nothing orders them",
			}},
			{2, "bar.warp.sync 0xffffffff; @%signals multimem.red.release.gpu.global.add.u32 [%group+8192], 1;", []string{
				"1-7 a scope is too narrow", "1-8 a scope is too narrow", "1-download a scope is too narrow",
				"2-3 a scope is too narrow", "2-download a scope is too narrow",
			}},
		}},
		"a read by .nc": {1, 64, `
			st.global.u32 [%at+4096], %tid;
			ld.global.nc.u32 %a, [%at];`, []change{
			{1, "st.global.u32 [%at], %tid;", []string{"1-2 read by .nc"}},
		}},
	} {
		t.Run(name, m.test)
	}
}
