package exec

import "math/bits"

// clusterBarrierID is the barrier of paths that wait at the cluster's barrier; those of a block have
// smaller ones.
const clusterBarrierID = 16

// clusterBarrier compiles barrier.cluster.arrive{.release, .relaxed}{.aligned} and
// barrier.cluster.wait{.acquire}{.aligned}.
func (c *compiler) clusterBarrier(o *op) {
	what, order := c.take("arrive", "wait"), c.take("release", "relaxed", "acquire")
	c.take("aligned")
	c.args(0)
	if m := c.program.module; m.SM < 90 || !m.AtLeast(7, 8) {
		c.fail("barrier.cluster needs target sm_90 and PTX 7.8")
	}
	o.kind = opControl
	switch {
	case what == "arrive" && order != "acquire":
		o.control = func(w *warp, _ *op, mask uint32) (verdict, error) {
			if order != "relaxed" {
				w.release("cluster", mask)
			}
			return proceed, w.arriveCluster(mask)
		}
	case what == "wait" && (order == "" || order == "acquire"):
		o.control = waitCluster
	default:
		c.fail("this form of barrier.cluster is not implemented")
	}
}

// arriveCluster counts lanes in. Each waits before it arrives again.
func (w *warp) arriveCluster(mask uint32) error {
	if again := w.clusterArrived & mask; again != 0 {
		return w.fault(IllegalInstruction, lowest(again),
			"a thread arrives at the cluster's barrier again before it has waited there")
	}
	c := w.block.cluster
	w.watch.blind = true // a loop that arrives does more than poll
	w.clusterArrived |= mask
	w.clusterPhase = w.clusterPhase&^mask | c.phase&mask
	c.arrived += bits.OnesCount32(mask)
	c.complete()
	return nil
}

// waitCluster lets lanes pass whose phase is over, and puts the others aside.
func waitCluster(w *warp, _ *op, mask uint32) (verdict, error) {
	if early := mask &^ w.clusterArrived; early != 0 {
		return suspended, w.fault(IllegalInstruction, lowest(early),
			"a thread waits at the cluster's barrier without having arrived there")
	}
	over := (w.clusterPhase ^ w.block.cluster.phase) & mask
	w.clusterArrived &^= over
	if rest := mask &^ over; rest != 0 {
		w.pushPath(path{pc: w.current.pc, mask: rest, depth: w.current.depth, state: atBarrier, barrier: clusterBarrierID})
	}
	if over == 0 {
		return suspended, nil
	}
	w.current.mask = over
	return proceed, nil
}

// complete begins the next phase if all threads have arrived, and lets those go on
// that wait.
func (c *cluster) complete() {
	if c.arrived == 0 || c.arrived < c.live {
		return
	}
	c.arrived, c.phase = 0, ^c.phase
	if c.blocks[0].grid.cfg.Observer != nil {
		c.tellRelease()
	}
	for _, b := range c.blocks {
		b.grid.progress = true
		b.wakes()
		b.view.acquire("cluster")
		for _, w := range b.warps {
			for i := range w.paths[:w.others] {
				if s := &w.paths[i]; s.state == atBarrier && s.barrier == clusterBarrierID {
					w.clusterArrived &^= s.mask
					s.state = runnable
					s.pc++
				}
			}
		}
	}
}

// leaveCluster counts exiting lanes out of the cluster's barrier.
func (w *warp) leaveCluster(mask uint32) {
	c := w.block.cluster
	c.live -= bits.OnesCount32(mask)
	c.arrived -= bits.OnesCount32(mask & w.clusterArrived &^ (w.clusterPhase ^ c.phase))
	w.clusterArrived &^= mask
	c.complete()
}
