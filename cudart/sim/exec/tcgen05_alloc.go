package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

// tensorBarrierID is the barrier of paths that wait for tensor memory.
const tensorBarrierID = warpgroupBarrierID + 64

// allocateTensor compiles
//
//	tcgen05.alloc.cta_group.sync.aligned{.shared::cta}.b32 [dst], columns;
//
// which writes the address of the columns to shared memory.
func (c *compiler) allocateTensor(o *op) {
	group := c.takeGroup()
	space := c.takeSpace()
	if c.takeType() != b32 || space != ptx.Shared && space != ptx.Generic {
		c.fail("tcgen05.alloc writes a .b32 to .shared::cta")
	}
	c.args(2)
	c.memory(o, 0, space, b32)
	c.src(&o.b, 1, u32)
	c.aligned(o, func(w *warp, o *op) (verdict, error) { return w.allocateTensor(o, group) })
}

func (w *warp) allocateTensor(o *op, group int) (verdict, error) {
	columns := int(uint32(w.regs[o.b][0]))
	t := w.block.tensor()
	switch {
	case columns < allocatedUnit || columns > tensorColumns || bits.OnesCount(uint(columns)) != 1:
		return suspended, w.fault(IllegalInstruction, 0,
			"%d columns of tensor memory cannot be allocated; 32, 64, 128, 256 and 512 can", columns)
	case t.relinquished:
		return suspended, w.fault(IllegalInstruction, 0,
			"the block has executed tcgen05.relinquish_alloc_permit, after which it cannot allocate")
	}
	if err := w.useGroup(group, 0); err != nil {
		return suspended, err
	}
	if group == 2 {
		return w.allocatePair(o, columns)
	}
	first, ok := t.allocate(columns)
	if !ok {
		return w.awaitTensor(), nil
	}
	return proceed, w.storeTensorAddress(o, uint32(first))
}

// allocatePair allocates in both blocks of a pair when both have executed the instruction.
func (w *warp) allocatePair(o *op, columns int) (verdict, error) {
	mine, other := w.block.tensor(), w.block.peer().tensor()
	switch {
	case mine.waiting != nil && mine.waiting.done:
		address := mine.waiting.address
		mine.waiting = nil
		return proceed, w.storeTensorAddress(o, address)
	case other.waiting == nil || other.waiting.done:
		mine.waiting = &pairAllocation{columns: columns}
		return w.awaitTensor(), nil
	case other.waiting.columns != columns:
		return suspended, w.fault(IllegalInstruction, 0,
			"the blocks of a pair allocate %d and %d columns of tensor memory, and need the same number", columns,
			other.waiting.columns)
	}
	for first := 0; first+columns <= tensorColumns; first += columns {
		if (mine.units|other.units)&unitsOf(first, columns) == 0 {
			mine.take(first, columns)
			other.take(first, columns)
			mine.waiting = nil
			other.waiting.address, other.waiting.done = uint32(first), true
			w.block.peer().wakeTensor()
			return proceed, w.storeTensorAddress(o, uint32(first))
		}
	}
	return w.awaitTensor(), nil
}

// awaitTensor puts the running path aside until tensor memory is freed or the other block of the pair has come.
func (w *warp) awaitTensor() verdict {
	s := w.current
	s.state, s.barrier = atBarrier, tensorBarrierID
	w.pushPath(s)
	return suspended
}

// wakeTensor lets the warps of a block that wait for tensor memory try again.
func (b *block) wakeTensor() {
	for _, w := range b.warps {
		for i := range w.paths[:w.others] {
			if s := &w.paths[i]; s.state == atBarrier && s.barrier == tensorBarrierID {
				s.state = runnable
				b.grid.progress = true
				b.wakes()
			}
		}
	}
}

// storeTensorAddress writes the address that an allocation returns.
func (w *warp) storeTensorAddress(o *op, address uint32) error {
	base := w.regs[o.a][0]
	if o.mem.own && w.owns(base) { // ThunderKittens, tested on GPUs, gives a generic address where .shared::cta stands
		base -= sharedWindow
	}
	p, err := w.writable(o, base, 0)
	if err != nil {
		return err
	}
	w.progresses()
	writePlain(p, 4, uint64(address))
	return nil
}

// deallocateTensor compiles tcgen05.dealloc.cta_group.sync.aligned.b32 address, columns.
func (c *compiler) deallocateTensor(o *op) {
	group := c.takeGroup()
	if c.takeType() != b32 {
		c.fail("tcgen05.dealloc takes a .b32")
	}
	c.args(2)
	c.src(&o.a, 0, u32)
	c.src(&o.b, 1, u32)
	c.alignedRun(o, func(w *warp, o *op) error {
		if err := w.useGroup(group, 0); err != nil {
			return err
		}
		if why := w.block.tensor().deallocate(uint32(w.regs[o.a][0]), int(uint32(w.regs[o.b][0]))); why != "" {
			return w.fault(IllegalInstruction, 0, "%s", why)
		}
		w.progresses()
		for _, b := range w.block.tensorGroup(group) {
			b.wakeTensor()
		}
		return nil
	})
}

// relinquishTensor compiles tcgen05.relinquish_alloc_permit.cta_group.sync.aligned.
func (c *compiler) relinquishTensor(o *op) {
	group := c.takeGroup()
	c.args(0)
	c.alignedRun(o, func(w *warp, _ *op) error {
		if err := w.useGroup(group, 0); err != nil {
			return err
		}
		w.block.tensor().relinquished = true
		return nil
	})
}
