package exec

import "testing"

// What threads wrote to shared memory is stored if there is a fence between the
// two, by who wrote or, after a barrier, by who stores.
func TestTensorStoreNeedsAProxyFence(t *testing.T) {
	const fence = "fence.proxy.async.shared::cta;\n"
	body := func(writer, storer string) string {
		return `
			mad.lo.u32 %v, %thread, 4, %tile;
			st.shared.u32 [%v], 77;
		` + writer + `
			bar.sync 0;
			@!first bra done;
		` + storer + storeBox + `
			cp.async.bulk.commit_group;
			cp.async.bulk.wait_group 0;
		done:
		`
	}
	lost := func(body string) (lost int) {
		for _, disorder := range seeds(20) {
			tensor, _, err := runBox(t, 1, 96, disorder, body)
			if err != nil {
				t.Fatal(err)
			}
			if tensor[14*64+32] != 77 || tensor[14*64+63] != 77 || tensor[15*64+36] != 77 {
				lost++
			}
		}
		return lost
	}
	for _, fence := range []string{fence, "fence.proxy.async.shared::cluster;\n", "fence.proxy.async;\n"} {
		if n := lost(body(fence, "")); n > 0 {
			t.Errorf("writers fence by %s and %d stores were wrong", fence, n)
		}
		if n := lost(body("", fence)); n > 0 {
			t.Errorf("who stores fences by %s and %d stores were wrong", fence, n)
		}
	}
	const release = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"
	const acquire = "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n"
	if n := lost(body(release, acquire)); n > 0 {
		t.Errorf("writers release, who stores acquires, and %d stores were wrong", n)
	}
	if n := lost(body("", acquire)); n == 0 {
		t.Error("without a release no store was wrong")
	}
	const other = "fence.proxy.async.global;\n"
	if n := lost(body(other, other)); n == 0 {
		t.Error("with fences of global memory no store was wrong")
	}
	if n := lost(body("", "")); n == 0 {
		t.Error("without a fence no store was wrong")
	}
	if n := lost(body("@first "+fence, "")); n == 0 {
		t.Error("with a fence of one thread before the barrier no store was wrong")
	}
}

// Another block sees what was stored if it was waited for in full.
func TestTensorStoreIsSeenOnceWritten(t *testing.T) {
	pass := func(wait string) (lost int) {
		for _, disorder := range seeds(30) {
			_, out, err := runBox(t, 2, 1, disorder, `
				@odd bra wait;
				st.shared.u32 [%tile], 77;
				fence.proxy.async.shared::cta;
			`+storeBox+`
				cp.async.bulk.commit_group;
			`+wait+`
				st.release.gpu.global.u32 [%out+4], 1;
				bra done;
			wait:
				ld.acquire.gpu.global.u32 %v, [%out+4];
				setp.eq.u32 p, %v, 0;
				@p bra wait;
				ld.global.u64 %far, [%map+16];
				ld.global.u32 %v, [%far+3712];
				st.global.u32 [%out], %v;
			done:
				barrier.cluster.arrive;
				barrier.cluster.wait;
			`)
			if err != nil {
				t.Fatal(err)
			}
			if out[0] != 77 {
				lost++
			}
		}
		return lost
	}
	if n := pass("cp.async.bulk.wait_group 0;"); n > 0 {
		t.Errorf("%d stores that were waited for were not seen", n)
	}
	if n := pass("cp.async.bulk.wait_group.read 0;"); n == 0 {
		t.Error("who waits for the reads only was never seen to signal too early")
	}
}

// A fence of one space leaves the other as it was: what a thread wrote to global memory is loaded by a bulk copy if
// the fence is of global memory or of all.
func TestProxyFenceOfASpace(t *testing.T) {
	lost := func(fence string) (lost int) {
		for _, disorder := range seeds(20) {
			got, err := runCopy(t, 1, disorder, `
				mbarrier.init.shared::cta.b64 [barrier], 1;
				fence.mbarrier_init.release.cluster;
				mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 16;
				st.global.u32 [%data], 77;
			`+fence+`
				cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%data], 16, [%bar];
			wait:
				mbarrier.try_wait.parity.shared::cta.b64 p, [barrier], 0;
				@!p bra wait;
				ld.shared.b32 %a, [%s];
				st.global.b32 [%out], %a;
			`)
			if err != nil {
				t.Fatal(err)
			}
			if got[0] != 77 {
				lost++
			}
		}
		return lost
	}
	for _, fence := range []string{"fence.proxy.async;", "fence.proxy.async.global;"} {
		if n := lost(fence); n > 0 {
			t.Errorf("with %s %d stores were not loaded", fence, n)
		}
	}
	for _, fence := range []string{"", "fence.proxy.async.shared::cta;"} {
		if n := lost(fence); n == 0 {
			t.Errorf("with %q every store was loaded", fence)
		}
	}
}
