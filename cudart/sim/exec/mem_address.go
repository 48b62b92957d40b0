package exec

import "gpurun/cudart/sim/ptx"

// mapAddress compiles mapa, which finds the same place in the shared memory of
// another block of the cluster:
//
//	mapa{.shared::cluster}.type d, a, rank;
func (c *compiler) mapAddress(o *op) {
	bias, t := c.clusterAddress()
	c.args(3)
	c.dst(&o.d, 0, t)
	c.src(&o.a, 1, t)
	c.src(&o.b, 2, u32)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var out lanes
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			addr, rank := w.regs[o.a][lane]+bias, w.regs[o.b][lane]
			if !w.owns(addr) {
				return w.notOwnShared(addr, lane)
			}
			if n := len(w.block.cluster.blocks); rank >= uint64(n) {
				return w.fault(IllegalInstruction, lane, "block %d of a cluster of %d does not exist", rank, n)
			}
			out[lane] = withRank(addr, int(rank)) - bias
		}
		w.setReg(o.d, &out, mask)
		return nil
	}
}

// rankOfAddress compiles getctarank{.shared::cluster}.type d, a.
func (c *compiler) rankOfAddress(o *op) {
	bias, t := c.clusterAddress()
	c.args(2)
	c.dst(&o.d, 0, u32)
	c.src(&o.a, 1, t)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var out lanes
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			addr := w.regs[o.a][lane] + bias
			if addr>>RegionShift != sharedWindow>>RegionShift {
				return w.notOwnShared(addr, lane)
			}
			out[lane] = uint64(rankOf(addr))
		}
		w.setReg(o.d, &out, mask)
		return nil
	}
}

// clusterAddress takes the modifiers of instructions on addresses in a cluster:
// what makes an address generic, and its type.
func (c *compiler) clusterAddress() (bias uint64, t ptx.Type) {
	if m := c.program.module; m.SM < 90 || !m.AtLeast(7, 8) {
		c.fail("%s needs target sm_90 and PTX 7.8", c.in.Op)
	}
	space := c.takeSpace()
	if t = c.takeType(); space != ptx.SharedCluster && space != ptx.Generic || t != u32 && t != u64 || t == u32 &&
		space == ptx.Generic {
		c.fail("%s takes a .u32 or .u64 address in .shared::cluster, or a generic .u64", c.in.Op)
	}
	return windowOf(space), t
}

// windowOf is the generic address of a state space's first byte. Global and
// constant addresses are generic addresses already.
func windowOf(s ptx.Space) uint64 {
	switch s {
	case ptx.Shared, ptx.SharedCluster:
		return sharedWindow
	case ptx.Local:
		return localWindow
	case ptx.Param:
		return paramWindow
	}
	return 0
}

// convertAddress compiles cvta and cvta.to.
func (c *compiler) convertAddress(o *op) {
	delta := uint64(0)
	to, space := c.has("to"), c.takeSpace()
	if delta = windowOf(space); to {
		delta = -delta
	}
	if t := c.takeType(); t.Bits != 64 {
		c.fail("addresses have 64 bits")
	}
	c.dstSrc(o, u64, u64)
	c.use(&o.b, c.constant(constant{value: delta}))
	o.alu, o.affine = addInt[uint64], affineAdd.modulo(u64)
}

// isGlobal reports whether a generic address is one of global memory.
func isGlobal(addr uint64) bool {
	return addr>>RegionShift >= FirstRegion || addr>>RegionShift == workspaceWindow>>RegionShift
}

// isSpace compiles isspacep.space p, a.
func (c *compiler) isSpace(o *op) {
	space := c.takeSpace()
	c.args(2)
	c.src(&o.a, 1, u64)
	o.p, _ = c.dstPreds()
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var yes uint32
		for i, a := range w.regs[o.a] {
			region := a >> RegionShift
			in := region == windowOf(space)>>RegionShift && region != 0 || space == ptx.Global && isGlobal(a)
			if in && (space != ptx.Shared || w.owns(a)) {
				yes |= 1 << i
			}
		}
		w.setPred(o.p, yes, mask)
		return nil
	}
}
