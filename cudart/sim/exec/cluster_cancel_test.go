package exec

import "testing"

// A request to take over the work of another cluster fails, and the response says so.
func TestClusterLaunchControl(t *testing.T) {
	out, err := runTensorBody(t, `
	.reg .b128 %response;
	mov.u32 %r0, 7;
	@first mbarrier.arrive.expect_tx.shared.b64 _, [done], 16;
	@first clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [tile], [done];
wait:
	mbarrier.try_wait.parity.shared.b64 p, [done], 0;
	@!p bra wait;
	ld.shared.b128 %response, [tile];
	clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, %response;
	@p bra taken;
	mov.u32 %r0, 1;
	bra done1;
taken:
	clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r0, %r1, %r2, _}, %response;
	clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r0, %response;
done1:
`+storeRegisters(1), 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := wordAt(out, 0, 100); got != 1 {
		t.Errorf("the thread has gone path %d", got)
	}
}

// st.bulk stores zeros.
func TestBulkStore(t *testing.T) {
	in := make([]byte, 8192)
	for i := range in {
		in[i] = 0xff
	}
	out, err := runTensorBody(t, `
	@first st.bulk.weak.shared::cta [tile+16], 480, 0;
	bar.sync 0;
	mad.lo.u32 %x, %thread, 4, %s;
	ld.shared.b32 %r0, [%x];
`+storeRegisters(1), 0, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	for thread := range 128 {
		want := uint32(0)
		if thread < 4 || thread >= 124 {
			want = 0xffffffff
		}
		if got := wordAt(out, 0, thread); got != want {
			t.Errorf("word %d is %#x, want %#x", thread, got, want)
		}
	}
}
