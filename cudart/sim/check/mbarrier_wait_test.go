package check

import (
	"strings"
	"testing"
)

// A wait for a phase that nobody completes is a deadlock: what lacks arrivals, and a wait for the wrong parity, which
// one phase too many or too few has made of it.
func TestWaitsForAnMbarrier(t *testing.T) {
	kernel := func(count, arrive, parity string) program {
		return program{seeds: 4, ranks: 1, body: strings.NewReplacer("COUNT", count, "ARRIVE", arrive, "PARITY", parity).Replace(`
	mov.u32 %v, buffer;
	@%first mbarrier.init.shared::cta.b64 [%v], COUNT;
	@%first fence.mbarrier_init.release.cluster;
	bar.sync 0;
	setp.ne.u32 %q, %tid, 5;
	@%q bra end;
	ARRIVE
again:
	20: mbarrier.try_wait.parity.shared::cta.b64 %p, [%v], PARITY;
	@!%p bra again;
end:
`)}
	}
	const arrive = "mbarrier.arrive.shared::cta.b64 _, [%v];\n"
	const wait = "deadlock, " + causePhase + ", 20"
	kernel("1", arrive, "0").expect(t)
	kernel("1", "", "1").expect(t) // the phase before the first counts as complete
	kernel("2", arrive, "0").expect(t, wait)
	kernel("1", arrive, "1").expect(t, wait)
	kernel("1", arrive+arrive, "0").expect(t, wait)
	found := kernel("1", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%v], 64;\n", "0").expect(t, wait)
	const want = `DEADLOCK  the mbarrier in the shared memory of rank 0's block 0 at +0x0
  nobody who still runs completes the phase of the mbarrier
  it is in phase 0 and lacks 0 arrivals and 64 bytes: count its arrivals and bytes, and compare the parities of the waits with the phases
`
	if got := found[wait].String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
