package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

// barrier compiles bar and barrier: .sync, .arrive, .red, and .warp.sync.
// Since Volta, bar and barrier count threads alike, so .aligned only promises
// something to the hardware.
func (c *compiler) barrier(o *op) {
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
	if want%32 != 0 || want > (w.grid.cfg.Threads+31)/32*32 {
		return 0, 0, w.fault(IllegalInstruction, lane, "a barrier cannot wait for %d threads in a block of %d", want, w.grid.cfg.Threads)
	}
	return id, min(want, w.grid.cfg.Threads), nil
}

func (w *warp) syncBlock(o *op, mask, preds uint32) (verdict, error) {
	id, want, err := w.barrierArguments(o, mask)
	if err != nil {
		return parked, err
	}
	s := w.current
	s.state, s.barrier = waiting, id
	w.push(s)
	if w.block.arrive(id, want, mask, preds) {
		w.block.release(id)
	}
	return parked, nil
}

func arriveBlock(w *warp, o *op, mask uint32) (verdict, error) {
	id, want, err := w.barrierArguments(o, mask)
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

// members returns the lanes of mask whose partners have all arrived, given
// each lane's member mask in register reg. When there are none, the split is
// put aside until other lanes come; lanes that are ready leave the others.
func (w *warp) members(reg int32, mask uint32) (ready uint32, err error) {
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		want := uint32(w.regs[reg][lane])
		if want>>lane&1 == 0 {
			return 0, w.fault(IllegalInstruction, lane, "lane %d is not in its own member mask %#x", lane, want)
		}
		if want&w.live&^mask == 0 {
			ready |= 1 << lane
		}
	}
	if rest := mask &^ ready; rest != 0 {
		s := w.current
		s.mask, s.state = rest, converging
		w.push(s)
		w.current.mask = ready
	}
	return ready, nil
}

// syncWarp is bar.warp.sync. Lanes may meet at different instructions.
func syncWarp(w *warp, o *op, mask uint32) (verdict, error) {
	present := mask
	for _, s := range w.splits[:w.parked] {
		if s.state == converging && isWarpSync(w.grid.kernel.code[s.pc].inst) {
			present |= s.mask
		}
	}
	lane := lowest(mask)
	want := uint32(w.regs[o.a][lane])
	if want>>lane&1 == 0 {
		return parked, w.fault(IllegalInstruction, lane, "lane %d is not in its own member mask %#x", lane, want)
	}
	if want&w.live&^present != 0 {
		s := w.current
		s.state = converging
		w.push(s)
		return parked, nil
	}
	for i := range w.splits[:w.parked] {
		s := &w.splits[i]
		if s.state == converging && s.mask&want != 0 && isWarpSync(w.grid.kernel.code[s.pc].inst) {
			s.state = runnable
			s.pc++
		}
	}
	return proceed, nil
}

func isWarpSync(in *ptx.Inst) bool {
	return in.Op == "bar" && len(in.Mods) > 0 && in.Mods[0] == "warp"
}

// shuffle compiles shfl.sync.mode.b32 d[|p], a, b, c, membermask.
func (c *compiler) shuffle(o *op) {
	if !c.has("sync") {
		c.fail("shfl needs .sync")
	}
	mode := c.take("up", "down", "bfly", "idx")
	c.takeType()
	c.args(5)
	members := new(int32)
	d := c.arg(0)
	o.p = -1
	if d.Kind == ptx.Pair {
		o.p = c.dstPred(d.Elems[1])
		d = d.Elems[0]
	}
	c.dstOperand(&o.d, d, b32)
	c.src(&o.a, 1, b32)
	c.src(&o.b, 2, b32)
	c.src(&o.c, 3, b32)
	c.src(members, 4, b32)
	o.kind = opControl
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		ready, err := w.members(*members, mask)
		if ready == 0 || err != nil {
			return parked, err
		}
		w.exchange(o, mode, ready)
		return proceed, nil
	}
}

// exchange computes each lane's partner as the PTX manual's pseudocode does.
// The upper half of c cuts the warp into segments, the lower clamps.
func (w *warp) exchange(o *op, mode string, mask uint32) {
	var out lanes
	var valid uint32
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		b, clamp := int(w.regs[o.b][lane]&31), int(w.regs[o.c][lane]&31)
		segment := int(w.regs[o.c][lane] >> 8 & 31)
		top := lane&segment | clamp&^segment
		bottom := lane & segment
		from, ok := partner(mode, lane, b, top, bottom, segment)
		if !ok {
			from = lane
		} else {
			valid |= 1 << lane
		}
		out[lane] = w.regs[o.a][from&31]
	}
	w.setReg(o.d, &out, mask)
	w.setPred(o.p, valid, mask)
}

func partner(mode string, lane, b, top, bottom, segment int) (from int, ok bool) {
	switch mode {
	case "up":
		return lane - b, lane-b >= top
	case "down":
		return lane + b, lane+b <= top
	case "bfly":
		return lane ^ b, lane^b <= top
	}
	from = bottom | b&^segment
	return from, from <= top
}

// collective compiles instructions whose result depends on the lanes present.
func (c *compiler) collective(o *op) {
	members := new(int32)
	switch c.in.Op {
	case "activemask":
		c.takeType()
		c.args(1)
		c.dst(&o.d, 0, b32)
		o.kind = opRun
		o.run = func(w *warp, o *op, mask uint32) error {
			w.setReg(o.d, broadcast(uint64(mask)), mask)
			return nil
		}
	case "vote":
		c.vote(o, members)
	case "redux":
		c.reduceWarp(o, members)
	case "match":
		c.match(o, members)
	default:
		c.fail("%s is not implemented", c.in.Op)
	}
}

func broadcast(x uint64) *lanes {
	var v lanes
	for i := range v {
		v[i] = x
	}
	return &v
}

// grouped makes an op that waits for its members and then calls f once for
// each group of lanes that name the same members.
func (c *compiler) grouped(o *op, members *int32, f func(w *warp, o *op, group uint32)) {
	if !c.has("sync") {
		c.fail("%s needs .sync", c.in.Op)
	}
	o.kind = opControl
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		ready, err := w.members(*members, mask)
		if ready == 0 || err != nil {
			return parked, err
		}
		for left := ready; left != 0; {
			group := uint32(w.regs[*members][lowest(left)]) & ready
			f(w, o, group)
			left &^= group
		}
		return proceed, nil
	}
}

func (c *compiler) vote(o *op, members *int32) {
	mode := c.take("all", "any", "uni", "ballot")
	c.takeType()
	c.args(3)
	p, flip := c.srcPred(c.arg(1))
	c.src(members, 2, b32)
	if mode == "ballot" {
		c.dst(&o.d, 0, b32)
	} else {
		o.p, _ = c.dstPreds()
	}
	c.grouped(o, members, func(w *warp, o *op, group uint32) {
		yes := (w.preds[p] ^ flip) & group
		switch mode {
		case "ballot":
			w.setReg(o.d, broadcast(uint64(yes)), group)
		case "all":
			w.setPred(o.p, boolMask(yes == group), group)
		case "any":
			w.setPred(o.p, boolMask(yes != 0), group)
		case "uni":
			w.setPred(o.p, boolMask(yes == group || yes == 0), group)
		}
	})
}

// reduceWarp compiles redux.sync.op.type d, a, membermask.
func (c *compiler) reduceWarp(o *op, members *int32) {
	name := c.take("add", "min", "max", "and", "or", "xor")
	t := c.takeType()
	fold := modifyInt(name, t)
	if fold == nil || t.Width() != 32 {
		c.fail("this form of redux is not implemented")
	}
	c.args(3)
	c.dst(&o.d, 0, t)
	c.src(&o.a, 1, t)
	c.src(members, 2, b32)
	c.grouped(o, members, func(w *warp, o *op, group uint32) {
		sum := w.regs[o.a][lowest(group)]
		for m := group & (group - 1); m != 0; m &= m - 1 {
			sum = fold(sum, w.regs[o.a][lowest(m)])
		}
		w.setReg(o.d, broadcast(sum), group)
	})
}

// match compiles match.any and match.all.
func (c *compiler) match(o *op, members *int32) {
	all := c.take("any", "all") == "all"
	t := c.takeType()
	c.args(3)
	d := c.arg(0)
	o.p = -1
	if d.Kind == ptx.Pair {
		o.p = c.dstPred(d.Elems[1])
		d = d.Elems[0]
	}
	c.dstOperand(&o.d, d, b32)
	c.src(&o.a, 1, t)
	c.src(members, 2, b32)
	c.grouped(o, members, func(w *warp, o *op, group uint32) {
		var out lanes
		equal := uint32(0)
		for m := group; m != 0; m &= m - 1 {
			lane := lowest(m)
			equal = w.sameValue(o.a, lane, group)
			if out[lane] = uint64(equal); all && equal != group {
				out[lane] = 0
			}
		}
		w.setReg(o.d, &out, group)
		w.setPred(o.p, boolMask(bits.OnesCount32(equal) == bits.OnesCount32(group)), group)
	})
}

func (w *warp) sameValue(reg int32, lane int, group uint32) uint32 {
	var same uint32
	for m := group; m != 0; m &= m - 1 {
		if i := lowest(m); w.regs[reg][i] == w.regs[reg][lane] {
			same |= 1 << i
		}
	}
	return same
}
