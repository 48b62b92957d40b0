package exec

import "gpurun/cudart/sim/ptx"

// arriveAfterCopies compiles cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [mbarrier]: an arrival once all
// cp.async that the thread has begun are complete. Without .noinc the phase waits for one
// arrival more.
func (c *compiler) arriveAfterCopies(o *op) {
	if !c.has("arrive") {
		c.fail("this form of cp.async.mbarrier is not implemented")
	}
	counted := c.has("noinc")
	space := c.takeSpace()
	if c.takeType() != b64 || space != ptx.Shared && space != ptx.Generic {
		c.fail("an mbarrier is a .b64 in shared memory")
	}
	c.args(1)
	barrier := c.endpoint(0, space)
	barrier.mem.size = 8
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.progresses()
		for ; mask != 0; mask &= mask - 1 {
			if err := w.arriveLater(barrier, lowest(mask), counted); err != nil {
				return err
			}
		}
		return nil
	}
}

func (w *warp) arriveLater(barrier *endpoint, lane int, counted bool) error {
	addr, err := barrier.at(w, lane)
	if err != nil {
		return err
	}
	t := &transfer{warp: w, lane: lane, copier: w.groupsOf(copyGroup, lane).pending(), arrivals: 1}
	if err := w.startCounted(t, addr); err != nil || counted {
		return err
	}
	m := readMbarrier(t.barrier)
	if m.pending++; m.pending > mbarrierLimit {
		return w.fault(IllegalInstruction, lane, "the mbarrier cannot wait for so many threads")
	}
	m.write(t.barrier)
	return nil
}

// priorCopies is the copies that an arrival waits for. To arrive is to complete them.
type priorCopies []*transfer

// pending returns those of a thread's copies that are not complete.
func (g *groups) pending() (all priorCopies) {
	for _, list := range append(g.committed[:len(g.committed):len(g.committed)], g.open) {
		for _, t := range list {
			if !t.done {
				all = append(all, t)
			}
		}
	}
	return all
}

func (priorCopies) fetch(*transfer) {}

func (all priorCopies) deliver(*transfer) {
	for _, t := range all {
		t.perform()
	}
}
