package exec

import "gpurun/cudart/sim/ptx"

// bulkInst is what bulk copies have in common, compiled.
type bulkInst struct {
	dst, src  *endpoint
	barrier   *endpoint      // nil where a group tells of the end
	multicast *int32         // the register of the mask of ranks; nil without
	reduction *bulkReduction // nil of a copy
	size      int32          // the register; not of tensors
	pair      bool           // .cta_group::2: the mbarrier may be in the other block of the pair
	byteMask  *int32         // the register of the mask of bytes; nil without
}

// bulkCopy compiles
//
//	cp.async.bulk.{shared::cta,shared::cluster}.global.mbarrier::complete_tx::bytes{.multicast::cluster} [dst], [src],
//
// size, [mbarrier] {, ranks};
//
//	cp{.reduce}.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{.op.type} [dst], [src], size,
//
// [mbarrier];
//
//	cp{.reduce}.async.bulk.global.shared::cta.bulk_group{.op.type}{.cp_mask} [dst], [src], size {, bytes};
func (c *compiler) bulkCopy(o *op, reduce bool) {
	k := &bulkInst{}
	to, from := c.takeSpace(), c.takeSpace()
	if reduce {
		k.reduction = c.takeReduction(to)
	}
	k.dst, k.src = c.endpoint(0, to), c.endpoint(1, from)
	c.src(&k.size, 2, u32)
	n := c.bulkEnd(k, 3, from)
	if c.has("cp_mask") {
		n = c.byteMask(k, n)
	}
	c.args(n)
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.progresses()
		for ; mask != 0; mask &= mask - 1 {
			if err := w.startBulk(k, lowest(mask)); err != nil {
				return err
			}
		}
		return nil
	}
}

// byteMask compiles operand n, which says which bytes of each 16 are copied.
func (c *compiler) byteMask(k *bulkInst, n int) int {
	if m := c.program.module; m.SM < 100 || !m.AtLeast(8, 6) || k.dst.space != ptx.Global || k.reduction != nil {
		c.fail("cp.async.bulk with .cp_mask goes to global memory, and needs target sm_100 and PTX 8.6")
	}
	k.byteMask = new(int32)
	c.src(k.byteMask, n, u16)
	return n + 1
}

// bulkEnd compiles how the end of a copy is told and to whom it goes, from operand
// n on, with a cache hint behind it, and returns how many operands there are. It
// fails where such a copy does not exist between the two spaces.
func (c *compiler) bulkEnd(k *bulkInst, n int, from ptx.Space) int {
	barrier, group := c.has("mbarrier::complete_tx::bytes"), c.has("bulk_group")
	multicast, hinted := c.has("multicast::cluster"), c.has("L2::cache_hint")
	to := k.dst.space
	load := k.reduction == nil && from == ptx.Global && (to == ptx.SharedCluster || to == ptx.Shared && !multicast)
	switch {
	case barrier && !group && (load || from == ptx.Shared && to == ptx.SharedCluster && !multicast):
		k.barrier = c.endpoint(n, to)
		k.barrier.mem.size = 8
		n++
	case group && !barrier && !multicast && from == ptx.Shared && to == ptx.Global:
	default:
		c.fail("this form of cp.async.bulk is not implemented")
	}
	if load && to == ptx.Shared && !c.program.module.AtLeast(8, 6) {
		c.fail("cp.async.bulk to .shared::cta needs PTX 8.6; .shared::cluster takes the same addresses")
	}
	c.kernel.copiesShared = c.kernel.copiesShared || from == ptx.Shared
	if multicast {
		k.multicast = new(int32)
		c.src(k.multicast, n, u16)
		n++
	}
	if hinted {
		n++
	}
	return n
}

// startBulk begins the plain copy of one lane.
func (w *warp) startBulk(k *bulkInst, lane int) error {
	size := w.regs[k.size][lane]
	if size == 0 || size%16 != 0 {
		return w.fault(IllegalInstruction, lane, "%d bytes cannot be copied in bulk; multiples of 16 can", size)
	}
	if k.barrier == nil {
		l := linear{bytes: size, alignment: 16}
		if err := w.resolve(&l, k.dst, k.src, lane); err != nil {
			return err
		}
		if k.byteMask == nil {
			w.startInGroup(&transfer{warp: w, lane: lane, copier: k.copier(l)}, bulkGroup)
		} else {
			only := uint16(w.regs[*k.byteMask][lane])
			w.startInGroup(&transfer{warp: w, lane: lane, copier: &maskedCopy{l, only}}, bulkGroup)
		}
		return nil
	}
	if k.reduction != nil && !w.grid.explicitCluster { // which an H100 refuses
		return w.fault(IllegalInstruction, lane, "cp.reduce.async.bulk to shared memory needs a launch with clusters")
	}
	from, err := k.src.at(w, lane)
	if err != nil {
		return err
	}
	src, err := w.rangeAt(from, size, 16, lane)
	if err != nil {
		return err
	}
	return w.eachTarget(k, lane, size, func(to uint64) (copier, error) {
		dst, err := w.writableAt(to, size, 16, lane)
		return k.copier(linear{dst: dst, src: src, to: to, from: from, bytes: size}), err
	})
}

// copier is what performs the copy.
func (k *bulkInst) copier(l linear) copier {
	if k.reduction != nil {
		return &linearReduction{l, k.reduction}
	}
	return &l
}

// eachTarget begins a copy to shared memory for each block that it goes to: the
// one that the address names, or at its offset, with the barrier at the barrier's
// offset, all those in the mask. The copy is told to each block's own barrier.
func (w *warp) eachTarget(k *bulkInst, lane int, bytes uint64, copyTo func(addr uint64) (copier, error)) error {
	to, err := k.dst.at(w, lane)
	if err != nil {
		return err
	}
	barrier, err := k.barrier.at(w, lane)
	if err != nil {
		return err
	}
	if to>>rankShift != barrier>>rankShift && !(k.pair && rankOf(to)^1 == rankOf(barrier)) {
		return w.fault(IllegalInstruction, lane, "the copy goes to block %d of the cluster and its mbarrier is in block %d",
			rankOf(to), rankOf(barrier))
	}
	ranks := uint32(1) << rankOf(to)
	if k.multicast != nil {
		ranks = uint32(w.regs[*k.multicast][lane]) & 0xffff
	}
	if n := len(w.block.cluster.blocks); ranks == 0 || ranks>>n != 0 {
		return w.fault(IllegalInstruction, lane, "the copy goes to the blocks in mask %#x, of a cluster of %d", ranks, n)
	}
	for ; ranks != 0; ranks &= ranks - 1 {
		rank := lowest(ranks)
		c, err := copyTo(withRank(to, rank))
		if err != nil {
			return err
		}
		at := rank
		if k.pair { // of each pair the block whose rank is as even or odd as that of the barrier that is named
			at = rank&^1 | rankOf(barrier)&1
		}
		if err := w.startCounted(&transfer{warp: w, lane: lane, copier: c, bytes: bytes}, withRank(barrier, at)); err != nil {
			return err
		}
	}
	return nil
}

// startCounted leaves t to the block and to the mbarrier by which threads learn
// of its end.
func (w *warp) startCounted(t *transfer, barrier uint64) error {
	var err error
	if t.barrier, err = w.writableAt(barrier, 8, 8, t.lane); err != nil {
		return err
	}
	if readMbarrier(t.barrier).count == 0 {
		return w.fault(IllegalInstruction, t.lane, "the mbarrier of the copy is not initialized")
	}
	t.into = w.block.cluster.blocks[rankOf(barrier)]
	t.into.incoming++
	w.block.begin(t)
	return nil
}
