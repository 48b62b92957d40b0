package exec

import "gpurun/cudart/sim/ptx"

// tcgen05 compiles the instructions of the 5th generation of tensor cores, PTX ISA section 9.7.16. Tensor memory is in
// tcgen05_memory.go, asynchronous operations are in tcgen05_queue.go.
func (c *compiler) tcgen05(o *op) {
	if p := c.program.module; p.SM < 100 || p.Feature == "" || !p.AtLeast(8, 6) {
		c.fail("tcgen05 needs a target such as sm_100a, and PTX 8.6")
	}
	switch c.take("alloc", "dealloc", "relinquish_alloc_permit", "ld", "st", "wait::ld", "wait::st", "cp", "shift", "mma",
		"commit", "fence::before_thread_sync", "fence::after_thread_sync") {
	case "alloc":
		c.allocateTensor(o)
	case "dealloc":
		c.deallocateTensor(o)
	case "relinquish_alloc_permit":
		c.relinquishTensor(o)
	case "ld":
		c.loadTensor(o)
	case "st":
		c.storeTensor(o)
	case "wait::ld":
		c.waitTensor(o, true)
	case "wait::st":
		c.waitTensor(o, false)
	case "cp":
		c.copyToTensor(o)
	case "shift":
		c.shiftTensor(o)
	case "mma":
		c.multiplyTensor(o)
	case "commit":
		c.commitTensor(o)
	case "fence::before_thread_sync", "fence::after_thread_sync":
		// What a thread has waited for is done, and nothing is executed before its turn: fences have nothing to do.
		c.args(0)
		o.kind = opRun
		o.run = func(*warp, *op, uint32) error { return nil }
	default:
		c.fail("this form of tcgen05 is not implemented")
	}
}

// takeGroup takes .cta_group::1 or .cta_group::2.
func (c *compiler) takeGroup() int {
	switch c.take("cta_group::1", "cta_group::2") {
	case "cta_group::1":
		return 1
	case "cta_group::2":
		return 2
	}
	c.fail("%s needs .cta_group::1 or .cta_group::2", c.in.Op)
	return 1
}

// tensorAddress makes slot read operand i, an address in tensor memory, and returns what is added to it.
func (c *compiler) tensorAddress(slot *int32, i int) (offset uint32) {
	arg := c.arg(i)
	if arg.Kind != ptx.Address || len(arg.Elems) != 1 {
		c.fail("operand %d must be an address in tensor memory, such as [r]", i+1)
		return 0
	}
	c.srcOperand(slot, arg.Elems[0], u32)
	return uint32(arg.Offset)
}

// useGroup checks that all instructions of a block, and of its pair, have the same .cta_group.
func (w *warp) useGroup(group, lane int) error {
	if group == 2 && w.block.rank^1 >= len(w.block.cluster.blocks) {
		return w.fault(IllegalInstruction, lane,
			"block %d of a cluster of %d has no pair: .cta_group::2 needs clusters with an even number of blocks", w.block.rank,
			len(w.block.cluster.blocks))
	}
	t := w.block.tensor()
	if t.group == 0 {
		t.group = group
	}
	if t.group != group {
		return w.fault(IllegalInstruction, lane,
			"the block has used .cta_group::%d before: all tcgen05 instructions of a kernel need the same .cta_group", t.group)
	}
	return nil
}

// peer is the other block of the pair.
func (b *block) peer() *block { return b.cluster.blocks[b.rank^1] }

// group is the blocks in whose tensor memory an instruction works: of a pair, the one with the even rank first.
func (b *block) tensorGroup(group int) []*block {
	if group == 1 {
		return []*block{b}
	}
	return b.cluster.blocks[b.rank&^1 : b.rank|1+1 : b.rank|1+1]
}
