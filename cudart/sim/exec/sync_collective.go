package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

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
		c.vote(o)
	case "redux":
		c.reduceWarp(o)
	case "match":
		c.match(o)
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

// give gives all lanes of a group the same value.
func (v *exchanged) give(group uint32, x uint64) {
	for m := group; m != 0; m &= m - 1 {
		v.out[lowest(m)] = x
	}
}

func (c *compiler) vote(o *op) {
	m := c.meeting()
	mode := c.take("all", "any", "uni", "ballot")
	c.takeType()
	c.args(3)
	m.writes = mode == "ballot"
	m.pred, m.flip = c.srcPred(c.arg(1))
	c.src(&m.members, 2, b32)
	if mode == "ballot" {
		c.dst(&o.d, 0, b32)
	} else {
		o.p, _ = c.dstPreds()
	}
	m.exchange = func(v *exchanged, group uint32) {
		switch yes := v.yes & group; mode {
		case "ballot":
			v.give(group, uint64(yes))
		case "all":
			v.pred |= boolMask(yes == group) & group
		case "any":
			v.pred |= boolMask(yes != 0) & group
		case "uni":
			v.pred |= boolMask(yes == group || yes == 0) & group
		}
	}
	c.meets(o, m)
}

// reduceWarp compiles redux.sync.op.type d, a, membermask.
func (c *compiler) reduceWarp(o *op) {
	m := c.meeting()
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
	c.src(&m.members, 2, b32)
	m.exchange = func(v *exchanged, group uint32) {
		a := v.in[0]
		sum := a[lowest(group)]
		for rest := group & (group - 1); rest != 0; rest &= rest - 1 {
			sum = fold(sum, a[lowest(rest)])
		}
		v.give(group, sum)
	}
	c.meets(o, m)
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
func (c *compiler) match(o *op) {
	m := c.meeting()
	all := c.take("any", "all") == "all"
	t := c.takeType()
	c.args(3)
	c.dstWithPred(o)
	c.src(&o.a, 1, t)
	c.src(&m.members, 2, b32)
	m.exchange = func(v *exchanged, group uint32) {
		equal := uint32(0)
		for rest := group; rest != 0; rest &= rest - 1 {
			lane := lowest(rest)
			equal = sameValue(v.in[0], lane, group)
			if v.out[lane] = uint64(equal); all && equal != group {
				v.out[lane] = 0
			}
		}
		if bits.OnesCount32(equal) == bits.OnesCount32(group) {
			v.pred |= group
		}
	}
	c.meets(o, m)
}

func sameValue(of *lanes, lane int, group uint32) uint32 {
	var same uint32
	for m := group; m != 0; m &= m - 1 {
		if i := lowest(m); of[i] == of[lane] {
			same |= 1 << i
		}
	}
	return same
}
