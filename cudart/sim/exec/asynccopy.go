package exec

import "gpurun/cudart/sim/ptx"

// asyncCopy compiles cp.async and cp.async.bulk:
//
//	cp.async.{ca,cg}.shared.global [dst], [src], size{, read};
//	cp.async.{commit_group, wait_group n, wait_all};
//	cp.async.bulk.{shared::cta,shared::cluster}.global.mbarrier::complete_tx::bytes [dst], [src], size, [mbarrier];
//	cp.async.bulk.global.shared::cta.bulk_group [dst], [src], size;
//	cp.async.bulk.{commit_group, wait_group{.read} n};
//
// Clusters have one block here, and cache hints do nothing.
func (c *compiler) asyncCopy(o *op) {
	if !c.has("async") {
		c.fail("this form of cp is not implemented")
	}
	kind := copyGroup
	if c.has("bulk") {
		kind = bulkGroup
		if m := c.program.module; m.SM < 90 || !m.AtLeast(8, 0) {
			c.fail("cp.async.bulk needs target sm_90 and PTX 8.0")
		}
	}
	o.kind = opRun
	switch c.take("commit_group", "wait_group", "wait_all") {
	case "commit_group":
		c.args(0)
		o.run = func(w *warp, _ *op, mask uint32) error {
			w.eachGroups(kind, mask, (*groups).commit)
			return nil
		}
	case "wait_group":
		c.waitGroup(o, kind)
	case "wait_all":
		c.args(0)
		o.run = func(w *warp, _ *op, mask uint32) error {
			w.eachGroups(kind, mask, func(g *groups) { g.commit(); g.wait(0) })
			return nil
		}
	default:
		c.copyOperands(o, kind)
	}
}

func (w *warp) eachGroups(kind groupKind, mask uint32, f func(*groups)) {
	for ; mask != 0; mask &= mask - 1 {
		f(w.groupsOf(kind, lowest(mask)))
	}
}

// waitGroup compiles wait_group{.read} n. What was read is written too, so that
// .read waits for more than it must, except that with disorder nobody
// else need see it.
func (c *compiler) waitGroup(o *op, kind groupKind) {
	if kind == bulkGroup {
		c.take("read")
	}
	c.args(1)
	n := c.arg(0)
	if n.Kind != ptx.Immediate {
		c.fail("the number of groups must be a literal")
	}
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.eachGroups(kind, mask, func(g *groups) { g.wait(n.Bits) })
		return nil
	}
}

// endpoint is an address operand of a copy.
type endpoint struct {
	op    // of which only the address counts
	space ptx.Space
}

func (c *compiler) endpoint(i int, space ptx.Space) *endpoint {
	e := &endpoint{space: space}
	c.memory(&e.op, i, space, b32)
	return e
}

// copyInst is the operands of a compiled copy.
type copyInst struct {
	kind              groupKind
	dst, src, barrier *endpoint // barrier is nil without
	size, read        int32     // registers; read is as size where not given
	alignment         uint64    // 0: the size itself
}

func (c *compiler) copyOperands(o *op, kind groupKind) {
	for c.take(cacheHints...) != "" {
	}
	to := c.takeCopySpace()
	from := c.takeCopySpace()
	barrier := c.has("mbarrier::complete_tx::bytes")
	group := c.has("bulk_group")
	hinted := c.has("L2::cache_hint")
	k := &copyInst{kind: kind, dst: c.endpoint(0, to), src: c.endpoint(1, from)}
	c.src(&k.size, 2, u32)
	read, n := 2, 3
	switch {
	case kind == bulkGroup && to == ptx.Shared && from == ptx.Global && barrier:
		k.barrier, k.alignment = c.endpoint(3, ptx.Shared), 16
		k.barrier.mem.size = 8
		n++
	case kind == bulkGroup && to == ptx.Global && from == ptx.Shared && group:
		k.alignment = 16
	case kind == copyGroup && to == ptx.Shared && from == ptx.Global && !barrier && !group:
		if len(c.in.Args) == 4 && !hinted {
			read, n = 3, 4
		}
	default:
		c.fail("this form of cp.async is not implemented")
	}
	if hinted {
		n++
	}
	c.args(n)
	c.src(&k.read, read, u32)
	o.run = func(w *warp, _ *op, mask uint32) error { return w.startCopies(k, mask) }
}

// takeCopySpace is takeSpace for operands that may name the cluster, whose only
// block is this one.
func (c *compiler) takeCopySpace() ptx.Space {
	for i, m := range c.mods {
		if m == "shared::cluster" {
			c.mods = append(c.mods[:i:i], c.mods[i+1:]...)
			return ptx.Shared
		}
		if _, ok := ptx.ParseSpace(m); ok {
			break
		}
	}
	return c.takeSpace()
}

// startCopies begins a transfer for each lane.
func (w *warp) startCopies(k *copyInst, mask uint32) error {
	w.current.polled = 0
	for ; mask != 0; mask &= mask - 1 {
		lane := lowest(mask)
		size, read := w.regs[k.size][lane], w.regs[k.read][lane]
		align := k.alignment
		if align == 0 {
			align = size
		}
		if bad := k.alignment == 0 && size != 4 && size != 8 && size != 16 || k.alignment > 0 && size%16 != 0 || size == 0; bad {
			return w.fault(IllegalInstruction, lane, "%d bytes cannot be copied: 4, 8 or 16 are possible, and multiples of 16 in bulk", size)
		}
		t := &transfer{warp: w, lane: lane, bytes: min(read, size), late: k.dst.space == ptx.Global}
		t.zeroes = size - t.bytes
		var err error
		if t.dst, err = w.writableAt(w.regs[k.dst.a][lane]+k.dst.mem.bias, size, align, lane); err != nil {
			return err
		}
		if t.bytes > 0 {
			if t.src, err = w.rangeAt(w.regs[k.src.a][lane]+k.src.mem.bias, t.bytes, align, lane); err != nil {
				return err
			}
		}
		if err := w.startTransfer(k, t); err != nil {
			return err
		}
	}
	return nil
}

// startTransfer leaves t to the block, and to the mbarrier or the group by which
// the thread learns of its end.
func (w *warp) startTransfer(k *copyInst, t *transfer) error {
	w.block.flying = append(w.block.flying, t)
	if k.barrier == nil {
		g := w.groupsOf(k.kind, t.lane)
		g.open = append(g.open, t)
		return nil
	}
	var err error
	if t.barrier, err = w.writable(&k.barrier.op, w.regs[k.barrier.a][t.lane], t.lane); err != nil {
		return err
	}
	if readMbarrier(t.barrier).count == 0 {
		return w.fault(IllegalInstruction, t.lane, "the mbarrier of the copy is not initialised")
	}
	return nil
}
