package check

import "testing"

// An mbarrier that waits for two arrivals and gets one is a deadlock, with the line of the wait. With the other arrival
// the wait ends.
func TestDeadlockAtAnMbarrier(t *testing.T) {
	body := func(arrivals string) string {
		return onlyOne + `
	mov.u32 %x, buffer;
	10: mbarrier.init.shared::cta.b64 [%x], 2;
` + arrivals + `
again:
	20: mbarrier.try_wait.parity.shared::cta.b64 %p, [%x], 0;
	@!%p bra again;
	end:
`
	}
	const arrive = "\n\tmbarrier.arrive.shared::cta.b64 _, [%x];\n"
	found := program{body: body(arrive), ranks: 1}.expect(t, "deadlock, "+causeNobody+", 20")
	for _, f := range found {
		if w := f.Waits[len(f.Waits)-1]; w.For != "the shared memory of rank 0's block 0 at +0x0" {
			t.Errorf("it waits for %s", w.For)
		}
	}
	program{body: body(arrive + arrive), ranks: 1}.expect(t)
}
