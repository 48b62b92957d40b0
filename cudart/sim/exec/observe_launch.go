package exec

import "slices"

// LaunchObserver is told how grids and the blocks of a cluster wait for one another.
type LaunchObserver interface {
	// WaitPrior is called when lanes of a warp go on behind griddepcontrol.wait.
	WaitPrior(at Place)
	// BlockBegins and BlockEnds are called before a block of a cluster of several does something, and behind all that
	// it did. Between them its shared memory can be accessed. The site is empty.
	BlockBegins(Place)
	BlockEnds(Place)
	// ArriveCluster is called when lanes of a warp arrive at their cluster's barrier.
	ArriveCluster(at Place, relaxed bool)
	// ReleaseCluster is called when that barrier is complete, with the warps that have waited for it, without sites.
	ReleaseCluster(cluster int, waiting []Place)
	// PassCluster is called when lanes wait for a barrier that is complete.
	PassCluster(at Place)
}

// observePriorGrid makes griddepcontrol.wait tell when it goes on. Launching the dependents orders nothing.
func (c *compiler) observePriorGrid(o *op) {
	if !slices.Contains(c.in.Mods, "wait") {
		return
	}
	wait := o.control
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		v, err := wait(w, o, mask)
		if v == proceed && err == nil {
			w.grid.cfg.Observer.WaitPrior(w.site())
		}
		return v, err
	}
}

// observeClusterBarrier makes barrier.cluster tell of arrivals, and of waits that end at once.
func (c *compiler) observeClusterBarrier(o *op) {
	control, relaxed := o.control, slices.Contains(c.in.Mods, "relaxed")
	if slices.Contains(c.in.Mods, "arrive") {
		o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
			w.grid.cfg.Observer.ArriveCluster(w.site(), relaxed)
			return control(w, o, mask)
		}
		return
	}
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		v, err := control(w, o, mask)
		if v == proceed && err == nil {
			w.grid.cfg.Observer.PassCluster(w.site())
		}
		return v, err
	}
}

// place is where a warp is, without the instruction.
func (b *block) place(warp int) Place {
	return Place{Block: b.index, Warp: warp, Cluster: b.cluster.number, ClusterRank: b.rank}
}

// start begins a block.
func (b *block) start() {
	b.started = true
	if b.grid.cfg.Observer != nil && b.grid.clusterBlocks > 1 {
		b.grid.cfg.Observer.BlockBegins(b.place(0))
	}
}

// tellEnd tells the observer that a block has ended.
func (b *block) tellEnd() {
	if b.grid.cfg.Observer != nil && b.grid.clusterBlocks > 1 {
		b.grid.cfg.Observer.BlockEnds(b.place(0))
	}
}

// tellRelease tells the observer which warps the cluster's barrier lets go on.
func (c *cluster) tellRelease() {
	var waiting []Place
	for _, b := range c.blocks {
		for _, w := range b.warps {
			atBarrier := func(p path) bool { return p.state == atBarrier && p.barrier == clusterBarrierID }
			if slices.ContainsFunc(w.paths[:w.others], atBarrier) {
				waiting = append(waiting, b.place(w.index))
			}
		}
	}
	c.blocks[0].grid.cfg.Observer.ReleaseCluster(c.number, waiting)
}
