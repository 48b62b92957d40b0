package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

// asyncCopy compiles cp.async, cp.async.bulk and cp.reduce.async.bulk:
//
//	cp.async.{ca,cg}.shared.global [dst], [src], size{, read or ignore};
//	cp.async.{commit_group, wait_group n, wait_all};
//	cp.async.bulk.{commit_group, wait_group{.read} n};
//
// Bulk copies themselves are in copy_bulk.go, copy_reduce.go and copy_tensor.go, arrivals in
// copy_arrival.go. Cache hints do nothing.
func (c *compiler) asyncCopy(o *op) {
	reduce := c.has("reduce")
	if !c.has("async") {
		c.fail("this form of cp is not implemented")
	}
	kind := copyGroup
	if c.has("bulk") {
		kind = bulkGroup
		c.needs(90, 8, 0)
	}
	o.kind = opRun
	switch c.take("commit_group", "wait_group", "wait_all", "mbarrier", "prefetch") {
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
	case "mbarrier":
		c.arriveAfterCopies(o)
	case "prefetch":
		c.prefetchBulk(o)
	default:
		c.startCopy(o, kind, reduce)
	}
}

func (w *warp) eachGroups(kind groupKind, mask uint32, f func(*groups)) {
	for ; mask != 0; mask &= mask - 1 {
		f(w.groupsOf(kind, lowest(mask)))
	}
}

// waitGroup compiles wait_group{.read} n.
func (c *compiler) waitGroup(o *op, kind groupKind) {
	wait := (*groups).wait
	if kind == bulkGroup && c.has("read") {
		wait = (*groups).waitRead
	}
	c.args(1)
	n := c.arg(0)
	if n.Kind != ptx.Immediate {
		c.fail("the number of groups must be a literal")
	}
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.eachGroups(kind, mask, func(g *groups) { wait(g, n.Bits) })
		return nil
	}
}

// startCopy compiles what begins a copy, and not what waits for one.
func (c *compiler) startCopy(o *op, kind groupKind, reduce bool) {
	for c.take(cacheHints...) != "" {
	}
	switch {
	case kind == copyGroup:
		c.smallCopy(o)
	case c.has("tensor"):
		c.tensorCopy(o, reduce)
	default:
		c.bulkCopy(o, reduce)
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

// at is the generic address that a lane gives, if it may name it.
func (e *endpoint) at(w *warp, lane int) (uint64, error) {
	addr := w.regs[e.a][lane] + e.mem.bias
	if e.mem.own && !w.owns(addr) {
		return 0, w.notOwnShared(addr, lane)
	}
	return addr, nil
}

// smallCopy compiles cp.async of 4, 8 or 16 bytes for each thread. A fourth operand says how many
// bytes are read, or, a predicate, that none is; the others are zeros.
func (c *compiler) smallCopy(o *op) {
	to, from := c.takeSpace(), c.takeSpace()
	hinted := c.has("L2::cache_hint")
	if to != ptx.Shared || from != ptx.Global {
		c.fail("this form of cp.async is not implemented")
	}
	k := &smallCopyInst{dst: c.endpoint(0, to), src: c.endpoint(1, from), ignore: 0}
	c.src(&k.size, 2, u32)
	n := 3
	if len(c.in.Args) == 5 || len(c.in.Args) == 4 && !hinted {
		n = 4
	}
	if o := c.arg(n - 1); o.Kind == ptx.Register && c.entry.Regs[o.Reg].Type.Class == ptx.Pred {
		k.ignore, k.flip = c.srcPred(o)
		c.src(&k.read, 2, u32)
	} else {
		c.src(&k.read, n-1, u32)
	}
	if hinted {
		n++
	}
	c.args(n)
	o.run = func(w *warp, _ *op, mask uint32) error { return w.startSmall(k, mask) }
}

// smallCopyInst is a compiled cp.async.
type smallCopyInst struct {
	dst, src   *endpoint
	size, read int32  // registers
	ignore     int32  // the predicate of lanes that read nothing; 0, which is always false, without
	flip       uint32 // negates it
}

func (w *warp) startSmall(k *smallCopyInst, mask uint32) error {
	w.progresses()
	copies := make([]struct {
		transfer
		linear
	}, bits.OnesCount32(mask)) // together, because there are many
	ignored := w.preds[k.ignore] ^ k.flip
	for i := range copies {
		lane := lowest(mask)
		mask &= mask - 1
		size, read := w.regs[k.size][lane], w.regs[k.read][lane]
		if size != 4 && size != 8 && size != 16 {
			return w.fault(IllegalInstruction, lane, "cp.async cannot copy %d bytes; 4, 8 or 16 are possible", size)
		}
		if ignored>>lane&1 != 0 {
			read = 0
		}
		t, l := &copies[i].transfer, &copies[i].linear
		t.warp, t.lane, t.copier = w, lane, l
		l.bytes, l.alignment, l.generic = min(read, size), size, true
		l.zeroes = size - l.bytes
		if err := w.resolve(l, k.dst, k.src, lane); err != nil {
			return err
		}
		w.startInGroup(t, copyGroup)
	}
	return nil
}

// resolve finds the memory of a copy.
func (w *warp) resolve(l *linear, dst, src *endpoint, lane int) error {
	to, err := dst.at(w, lane)
	if err != nil {
		return err
	}
	l.to, l.late = to, dst.space == ptx.Global
	if l.dst, err = w.writableAt(to, l.bytes+l.zeroes, l.alignment, lane); err != nil || l.bytes == 0 {
		return err
	}
	from, err := src.at(w, lane)
	if err == nil {
		l.from = from
		l.src, err = w.rangeAt(from, l.bytes, l.alignment, lane)
	}
	return err
}

// startInGroup leaves t to the block and to the group by which the thread learns
// of its end.
func (w *warp) startInGroup(t *transfer, kind groupKind) {
	w.block.begin(t)
	g := w.groupsOf(kind, t.lane)
	g.open = append(g.open, t)
}
