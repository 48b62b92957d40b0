package exec

// barrier compiles bar and barrier: .sync, .arrive, .red, and .warp.sync.
// Since Volta, bar and barrier count threads alike, so .aligned only promises
// something to the hardware.
func (c *compiler) barrier(o *op) {
	if c.in.Op == "barrier" && c.has("cluster") {
		c.clusterBarrier(o)
		return
	}
	c.take("cta")
	c.take("aligned")
	o.kind = opControl
	switch what := c.take("warp", "sync", "arrive", "red"); what {
	case "warp":
		c.take("sync")
		c.args(1)
		c.src(&o.a, 0, b32)
		o.control = syncWarp
	case "sync":
		c.barrierOperands(o, 0)
		o.control = func(w *warp, o *op, mask uint32) (verdict, error) { return w.syncBlock(o, mask, 0) }
	case "arrive":
		c.barrierOperands(o, 0)
		o.control = arriveBlock
	case "red":
		c.barrierReduce(o)
	default:
		c.fail("this form of %s is not implemented", c.in.Op)
	}
}

// barrierOperands reads id and thread count, from operand i on. A count of 0
// stands for all threads.
func (c *compiler) barrierOperands(o *op, i int) {
	if len(c.in.Args) < i+1 || len(c.in.Args) > i+2 {
		c.args(i + 2)
		return
	}
	c.src(&o.a, i, u32)
	if len(c.in.Args) > i+1 {
		c.src(&o.b, i+1, u32)
	}
}

// barrierReduce compiles bar.red.popc.u32 d, a, b, p and bar.red.and.pred q, a, b, p.
func (c *compiler) barrierReduce(o *op) {
	how := c.take("popc", "and", "or")
	c.takeType()
	last := len(c.in.Args) - 1
	if last != 2 && last != 3 {
		c.args(4)
		return
	}
	p, flip := c.srcPred(c.arg(last))
	if how == "popc" {
		c.dst(&o.d, 0, u32)
		o.p = -1
	} else {
		o.p, _ = c.dstPreds()
	}
	o.q, o.reduce = p, how
	c.src(&o.a, 1, u32)
	if last == 3 {
		c.src(&o.b, 2, u32)
	}
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		return w.syncBlock(o, mask, w.preds[o.q]^flip)
	}
}

// barrierArguments returns id and count, the same for all lanes.
func (w *warp) barrierArguments(o *op, mask uint32) (id, want int, err error) {
	lane := lowest(mask)
	id, want = int(w.regs[o.a][lane]), int(w.regs[o.b][lane])
	if id > 15 {
		return 0, 0, w.fault(IllegalInstruction, lane, "barrier %d does not exist; there are 16", id)
	}
	if want%32 != 0 || want > (w.grid.threads+31)/32*32 {
		return 0, 0, w.fault(IllegalInstruction, lane, "a barrier cannot wait for %d threads in a block of %d", want,
			w.grid.threads)
	}
	return id, min(want, w.grid.threads), nil
}

func (w *warp) syncBlock(o *op, mask, preds uint32) (verdict, error) {
	id, want, err := w.barrierArguments(o, mask)
	if err != nil {
		return suspended, err
	}
	w.releaseToBlock(mask)
	s := w.current
	s.state, s.barrier = atBarrier, int32(id)
	w.pushPath(s)
	if w.block.arrive(id, want, mask, preds) {
		w.block.release(id)
	}
	return suspended, nil
}

func arriveBlock(w *warp, o *op, mask uint32) (verdict, error) {
	id, want, err := w.barrierArguments(o, mask)
	w.releaseToBlock(mask)
	w.watch.blind = true // a loop that arrives does more than poll
	if err == nil && w.block.arrive(id, want, mask, 0) {
		w.block.release(id)
	}
	return proceed, err
}

// reduced gives lanes the result of the reduction at a barrier, if there is one.
func (w *warp) reduced(o *op, mask uint32, bar barrier) {
	switch o.reduce {
	case "popc":
		var v lanes
		for i := range v {
			v[i] = uint64(bar.trues)
		}
		w.setReg(o.d, &v, mask)
	case "and":
		w.setPred(o.p, boolMask(bar.trues == bar.arrived), mask)
	case "or":
		w.setPred(o.p, boolMask(bar.trues > 0), mask)
	}
}

func boolMask(b bool) uint32 {
	if b {
		return fullMask
	}
	return 0
}
