package exec

import "slices"

// Asynchronous multiplication. A warpgroup is four warps, the first of which has a
// number that 4 divides. A wgmma.mma_async of theirs is under way when all four
// have issued it, and is done, for all at once and in the order of issue, at some time
// until one of them waits for it: only when it is waited for, or with disorder
// at random before. It is then that it reads shared memory and registers, and
// that it writes accumulators. So a kernel that overwrites its operands too
// early gets other results, or a fault, and one that reads accumulators too early
// gets old ones.
//
// Registers are compared with what they held at the warp's last wgmma.fence, or
// what the last multiplication left there. That other values have been written
// since is a fault; that the same have goes unnoticed.

// warpgroup is the multiplications of four warps.
type warpgroup struct {
	queue []*multiplication // issued by some warp, not done, in order
	done  int               // how many are
	warps [4]*warp
	// observed are what the warps have issued, in observed programs: of each multiplication from number dropped on.
	observed [][]*ObservedCopy
	dropped  int
}

// multiplication is a wgmma.mma_async that some warps have issued.
type multiplication struct {
	*wgmmaInst
	aDesc, bDesc uint64
	accumulate   bool
	issued       int       // by how many warps
	metadata     *[4]lanes // of a sparse A, of each warp
	*places                // of the warp whose rows are being multiplied; nil if A is dense
}

// asyncState is a warp's part.
type asyncState struct {
	fenced  []lanes // what the kernel's async registers may hold; nil without a fence yet
	issued  int     // multiplications
	commits []int   // how many had been issued when each group was committed that is not waited for
	waited  int     // how many the warp has waited for, in observed programs
}

// warpgroupBarrierID is the barrier of paths that wait for the other warps of the first warpgroup;
// those of the other warpgroups follow.
const warpgroupBarrierID = clusterBarrierID + 1

func (w *warp) group() *warpgroup {
	b := w.block
	if b.warpgroups == nil {
		b.warpgroups = make([]*warpgroup, (len(b.warps)+3)/4)
	}
	g := &b.warpgroups[w.index/4]
	if *g == nil {
		*g = &warpgroup{}
	}
	return *g
}

// fenceRegisters is wgmma.fence.
func (w *warp) fenceRegisters() {
	k := w.grid.kernel
	if w.async.fenced == nil {
		w.async.fenced = make([]lanes, len(k.async))
	}
	for i, slot := range k.async {
		w.async.fenced[i] = w.regs[slot]
	}
}

// issue is wgmma.mma_async by one warp.
func (w *warp) issue(m *wgmmaInst) error {
	g := w.group()
	p := &multiplication{wgmmaInst: m, aDesc: w.regs[m.aDesc][0], bDesc: w.regs[m.bDesc][0]}
	scale := w.preds[m.scale] ^ m.flip
	p.accumulate = scale != 0
	uniform := func(slot int32, v uint64) bool { return w.regs[slot] == *broadcast(v) }
	switch {
	case w.index|3 >= len(w.block.warps) || w.grid.threads%32 != 0:
		return w.fault(IllegalInstruction, 0, "the block has no four whole warps here, which a warpgroup is")
	case !uniform(m.bDesc, p.bDesc) || m.a == nil && !uniform(m.aDesc, p.aDesc) || scale != 0 && scale != fullMask:
		return w.fault(IllegalInstruction, 0, "the lanes give different descriptors or scales")
	}
	if err := w.checkFenced(p); err != nil {
		return err
	}
	if w.async.issued == g.done+len(g.queue) {
		g.queue = append(g.queue, p)
	}
	first := g.queue[w.async.issued-g.done]
	if first.wgmmaInst != m || first.accumulate != p.accumulate || first.bDesc != p.bDesc || m.a == nil &&
		first.aDesc != p.aDesc {
		return w.fault(IllegalInstruction, 0,
			"the warps of the warpgroup execute different wgmma.mma_async, or with different descriptors or scales")
	}
	if m.sparse != nil {
		if first.metadata == nil {
			first.metadata = &[4]lanes{}
		}
		first.metadata[w.index%4] = w.regs[m.sparse.meta]
	}
	first.issued++
	w.async.issued++
	g.warps[w.index%4] = w
	w.block.wakeGroup(w.index / 4)
	return w.block.multiplySome(2)
}

// checkFenced is a fault where a register that p reads has changed since the
// fence.
func (w *warp) checkFenced(p *multiplication) error {
	if w.async.fenced == nil {
		return w.faultAt(p.inst, IllegalInstruction, 0, "wgmma.fence must come before the first wgmma.mma_async of a warp")
	}
	reads := p.a
	if p.accumulate {
		reads = p.registers()
	}
	for _, slot := range reads {
		if w.regs[slot] != *w.fencedAt(slot) {
			return w.faultAt(p.inst, IllegalInstruction, 0,
				"a register of the multiplication was written without a wgmma.fence after that, or before a wgmma.wait_group")
		}
	}
	return nil
}

func (w *warp) fencedAt(slot int32) *lanes {
	i, _ := slices.BinarySearch(w.grid.kernel.async, slot)
	return &w.async.fenced[i]
}

// commitMultiplications is wgmma.commit_group.
func (w *warp) commitMultiplications() {
	w.async.commits = append(w.async.commits, w.async.issued)
}

// awaitMultiplications is wgmma.wait_group: all but the newest n groups must be done.
func (w *warp) awaitMultiplications(n uint64) (verdict, error) {
	over := len(w.async.commits) - int(min(n, uint64(len(w.async.commits))))
	if over == 0 {
		return proceed, nil
	}
	g := w.group()
	for g.done < w.async.commits[over-1] {
		if g.queue[0].issued < 4 {
			s := w.current
			s.state, s.barrier = atBarrier, int32(warpgroupBarrierID+w.index/4)
			w.pushPath(s)
			return suspended, nil
		}
		if err := w.block.multiplyNext(g); err != nil {
			return suspended, err
		}
	}
	w.async.commits = w.async.commits[over:]
	return proceed, nil
}

// wakeGroup lets warps go on that wait for others of their group to issue.
func (b *block) wakeGroup(group int) {
	for _, w := range b.warps {
		for i := range w.paths[:w.others] {
			if s := &w.paths[i]; s.state == atBarrier && int(s.barrier) == warpgroupBarrierID+group {
				s.state = runnable
				b.grid.progress = true
				b.wakes()
			}
		}
	}
}

// multiplySome does multiplications that are under way, in disorder and at random: one
// time in oneIn.
func (b *block) multiplySome(oneIn int) error {
	r := b.grid.cfg.Disorder
	if r == nil {
		return nil
	}
	for _, g := range b.warpgroups {
		for g != nil && len(g.queue) > 0 && g.queue[0].issued == 4 && r.IntN(oneIn) == 0 {
			if err := b.multiplyNext(g); err != nil {
				return err
			}
		}
	}
	return nil
}
