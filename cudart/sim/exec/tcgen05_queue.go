package exec

import "gpurun/cudart/sim/ptx"

// Asynchronous operations of tensor cores: tcgen05.mma, cp, shift and commit. A block keeps those that its threads have
// issued. Those of one thread are performed in the order in which it has issued them: PTX promises no more than some of that
// order, GPUs keep it. Each is performed before the block's next turn, with disorder before a later one. So a kernel that
// does not wait for an mbarrier which tcgen05.commit arrives at finds old values in tensor memory, or overwrites matrices
// that are read later.

// tensorOperation is an operation that a thread has issued.
type tensorOperation struct {
	warp     *warp
	lane     int
	inst     *ptx.Inst
	perform  func(t *tensorOperation) error
	observed *ObservedCopy // nil in programs that are not observed
	prior    *ObservedCopy // of a commit: the last operation that it waits for
}

// fault describes what is wrong with an operation.
func (t *tensorOperation) fault(kind FaultKind, format string, args ...any) error {
	return t.warp.faultAt(t.inst, kind, t.lane, format, args...)
}

// issueTensor gives the running lanes' operation to the block.
func (w *warp) issueTensor(lane int, perform func(t *tensorOperation) error) *tensorOperation {
	t := &tensorOperation{warp: w, lane: lane, inst: w.grid.kernel.code[w.current.pc].inst, perform: perform}
	w.block.tensorQueue = append(w.block.tensorQueue, t)
	w.progresses()
	return t
}

// performTensor performs operations that the block's threads have issued: all of them, or with disorder some.
func (b *block) performTensor() error {
	if len(b.tensorQueue) == 0 {
		return nil
	}
	b.grid.progress = true
	r := b.grid.cfg.Disorder
	type thread struct {
		warp *warp
		lane int
	}
	var waits map[thread]bool // threads whose first operation is not performed yet
	left := b.tensorQueue[:0]
	for i, t := range b.tensorQueue {
		if at := (thread{t.warp, t.lane}); r != nil && (waits[at] || r.IntN(4) == 0) {
			if waits == nil {
				waits = map[thread]bool{}
			}
			waits[at] = true
			left = append(left, t)
			continue
		}
		if err := t.perform(t); err != nil {
			b.tensorQueue = append(left, b.tensorQueue[i+1:]...)
			return err
		}
	}
	clear(b.tensorQueue[len(left):])
	b.tensorQueue = left
	return nil
}

// performAllTensor performs all operations, when the block has exited.
func (b *block) performAllTensor() error {
	queue := b.tensorQueue
	b.tensorQueue = nil
	for _, t := range queue {
		if err := t.perform(t); err != nil {
			return err
		}
	}
	return nil
}

// commitTensor compiles
//
//	tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbarrier]{, ranks};
//
// an arrival at an mbarrier once the operations that the thread has issued are complete.
func (c *compiler) commitTensor(o *op) {
	group := c.takeGroup()
	if !c.has("mbarrier::arrive::one") {
		c.fail("tcgen05.commit needs .mbarrier::arrive::one")
	}
	space := c.takeSpace()
	multicast := c.has("multicast::cluster")
	if c.takeType() != b64 || space != ptx.SharedCluster && space != ptx.Generic {
		c.fail("an mbarrier is a .b64 in shared memory")
	}
	barrier := c.endpoint(0, space)
	barrier.mem.size = 8
	n, ranks := 1, int32(-1)
	if multicast {
		n = 2
		c.src(&ranks, 1, u16)
	}
	c.args(n)
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			if err := w.useGroup(group, lane); err != nil {
				return err
			}
			if err := w.commitTo(barrier, ranks, lane); err != nil {
				return err
			}
		}
		return nil
	}
}

// commitTo issues the arrivals of one lane's tcgen05.commit.
func (w *warp) commitTo(barrier *endpoint, ranks int32, lane int) error {
	addr, err := barrier.at(w, lane)
	if err != nil {
		return err
	}
	if barrier.space == ptx.Generic && addr>>RegionShift == 0 { // ThunderKittens, tested on GPUs, gives a shared address
		addr += sharedWindow
	}
	to := uint32(1) << rankOf(addr)
	if ranks >= 0 {
		to = uint32(w.regs[ranks][lane]) & 0xffff
	}
	if n := len(w.block.cluster.blocks); to == 0 || to>>n != 0 {
		return w.fault(IllegalInstruction, lane, "the commit goes to the blocks in mask %#x, of a cluster of %d", to, n)
	}
	for ; to != 0; to &= to - 1 {
		at := withRank(addr, lowest(to))
		p, err := w.writableAt(at, 8, 8, lane)
		if err != nil {
			return err
		}
		if readMbarrier(p).count == 0 {
			return w.fault(IllegalInstruction, lane, "the mbarrier of tcgen05.commit is not initialized")
		}
		into := w.block.cluster.blocks[rankOf(at)]
		into.incoming++
		t := w.issueTensor(lane, func(t *tensorOperation) error {
			m := readMbarrier(p)
			t.tellCommit(into, at, m.phase)
			if why := m.arrive(1); why != "" {
				return t.fault(IllegalInstruction, "%s", why)
			}
			m.write(p)
			into.incoming--
			return nil
		})
		t.observeCommit(into, at)
	}
	return nil
}
