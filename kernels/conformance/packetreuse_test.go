package conformance

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gpurun/cudart/sim"
	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// Packets and mailboxes of collectives whose data go one way are not overwritten before they have been read. The root
// of a broadcast or scatter, which waits for no data, and the senders of a reduce or gather call many times while a
// rank is late, with another root and other tiles each time. Every call has buffers of its own. Time is real: in
// disorder, the lanes of a warp that poll for a row of a keyed mailbox meet and part again, which the simulator takes
// for work.
func TestOneWayPacketsWaitForLateRanks(t *testing.T) {
	oneWay := func(a *collective.Algorithm) bool {
		c, _ := kernels.Find(a.Collective)
		return (a.Needs.Packets || a.Needs.Mailboxes) && c.Shape.Root != collective.NoRoot
	}
	for seed := range uint64(8) {
		world := 2 + int(seed%3)
		g := group{world: world, blocks: 1 + int(seed%2), backend: inRealTime(sim.Options{Seed: seed})}
		g.run(t, func(m *member) error {
			common := rand.New(rand.NewPCG(seed, 1))
			var b batch
			for i := range batchCalls {
				kinds := calls(m.world, oneWay)
				c := kinds[common.IntN(len(kinds))]
				c.in.Seed, c.root, c.offset = common.Uint64(), common.IntN(world), int64(i*batchBytes)
				c.count = common.Int64N(c.capacity(batchBytes) >> common.IntN(8))
				b.calls = append(b.calls, c)
			}
			if err := b.fill(m); err != nil {
				return err
			}
			m.meet()
			if m.rank == int(seed)%world {
				m.sleep(20 * time.Millisecond) // the lateness under test
			}
			if err := b.enqueue(m); err != nil {
				return err
			}
			if err := m.synchronize(); err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			return b.check(m)
		})
	}
}
