package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

// members returns the lanes of mask whose partners have all arrived, given
// each lane's member mask in register reg. When there are none, the path is
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
		s.mask, s.state = rest, reconverging
		w.pushPath(s)
		w.current.mask = ready
	}
	return ready, nil
}

// syncWarp is bar.warp.sync. Lanes may meet at different instructions.
func syncWarp(w *warp, o *op, mask uint32) (verdict, error) {
	w.releaseToBlock(mask)
	present := mask
	for _, s := range w.paths[:w.others] {
		if s.state == reconverging && w.grid.kernel.code[s.pc].warpSync {
			present |= s.mask
		}
	}
	lane := lowest(mask)
	want := uint32(w.regs[o.a][lane])
	if want>>lane&1 == 0 {
		return suspended, w.fault(IllegalInstruction, lane, "lane %d is not in its own member mask %#x", lane, want)
	}
	if want&w.live&^present != 0 {
		s := w.current
		s.state = reconverging
		w.pushPath(s)
		return suspended, nil
	}
	for i := range w.paths[:w.others] {
		s := &w.paths[i]
		if s.state == reconverging && s.mask&want != 0 && w.grid.kernel.code[s.pc].warpSync {
			s.state = runnable
			s.pc++
		}
	}
	return proceed, nil
}

func isWarpSync(in *ptx.Inst) bool {
	return in.Op == "bar" && len(in.Mods) > 0 && in.Mods[0] == "warp"
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
			return suspended, err
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
	form := floatForm{op: name, abs: c.has("abs"), nan: c.has("NaN")}
	t := c.takeType()
	fold := c.reduxFold(form, t)
	if fold == nil || t.Width() != 32 || t.Lanes != 1 {
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

// reduxFold finds how to combine two values. Floats have min and max, on sm_100a.
func (c *compiler) reduxFold(form floatForm, t ptx.Type) update {
	switch {
	case t == typeF32 && (form.op == "min" || form.op == "max"):
		if c.needs(100, 8, 6); c.program.module.Feature == "" {
			c.fail("redux of .f32 needs target sm_100a")
		}
		pick := form.scalar(binary32)
		return func(a, b uint64) uint64 { return pick(a, b, 0) }
	case t.IsFloat() || form.abs || form.nan || form.op == "":
		return nil
	}
	return modifyInt(form.op, t)
}

// match compiles match.any and match.all.
func (c *compiler) match(o *op, members *int32) {
	all := c.take("any", "all") == "all"
	t := c.takeType()
	c.args(3)
	c.dstWithPred(o)
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
