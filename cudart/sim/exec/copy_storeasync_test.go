package exec

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"
)

// runPair runs a body in the two blocks of a cluster, as runCluster does, by a newer version of PTX.
func runPair(t *testing.T, disorder *rand.Rand, body string) ([2]uint32, error) {
	t.Helper()
	var mem memory
	out := mem.allocate(256)
	text := strings.Replace(clusterKernel(body), ".version 8.0", ".version 8.1", 1)
	err := finish(t, launchKernel(t, compileText(t, text), "run",
		Config{Blocks: 2, Threads: 32, Cluster: 2, Params: words(out), Memory: &mem, Disorder: disorder}))
	return [2]uint32{binary.LittleEndian.Uint32(mem.at(out)), binary.LittleEndian.Uint32(mem.at(out)[4:])}, err
}

// awaitBytes is a loop that waits for the first phase of the block's mbarrier.
const awaitBytes = `
	mov.u32 %w, barrier;
wait:
	mbarrier.try_wait.parity.shared::cta.b64 p, [%w], 0;
	@!p bra wait;
`

// expectBytes makes the mbarrier of each block expect bytes, before any block sends some.
func expectBytes(bytes string) string {
	return `
	mov.u32 %w, barrier;
	@first mbarrier.init.shared::cta.b64 [%w], 1;
	@first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%w], ` + bytes + `;
	st.shared.u32 [%slot], 1000;
	` + meet + `
	.reg .b32 %remote;
	mapa.shared::cluster.u32 %remote, %w, %next;
	mad.lo.u32 %v, %rank, 100, %thread;
	`
}

// sumOfSlots sums up the slots and ends.
const sumOfSlots = `
	ld.shared.u32 %v, [%slot];
	bar.sync 0;
	redux.sync.add.u32 %v, %v, 0xffffffff;
	@first st.global.u32 [%out], %v;
	` + meet

func TestAsyncStoresCountAtTheBarrierOfTheirBlock(t *testing.T) {
	const low, high = 31 * 32 / 2, 31*32/2 + 3200 // sums of what blocks 0 and 1 send
	for name, tt := range map[string]struct {
		send string
		want [2]uint32
	}{
		"one word": {
			expectBytes("128") + "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%peer], %v, [%remote];",
			[2]uint32{high, low},
		},
		"a sum": {
			expectBytes("128") + "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%peer], %v, " +
				"[%remote];", [2]uint32{high + 32000, low + 32000},
		},
		"a maximum": {
			expectBytes("128") + "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%peer], %v, " +
				"[%remote];", [2]uint32{32000, 32000},
		},
		"vectors of words": {
			expectBytes("128") + "and.b32 %w, %thread, 3; setp.eq.u32 p, %w, 0; @p " +
				"st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%peer], {%v, %v, %v, 0}, [%remote];",
			[2]uint32{3 * (112 + 800), 3 * 112},
		},
	} {
		for i, disorder := range seeds(4) {
			got, err := runPair(t, disorder, tt.send+awaitBytes+sumOfSlots)
			if err != nil {
				t.Fatalf("%s, seed %d: %v", name, i, err)
			}
			if got != tt.want {
				t.Errorf("%s, seed %d: got %v, want %v", name, i, got, tt.want)
			}
		}
	}
}
