package exec

import "gpurun/cudart/sim/ptx"

// stack compiles alloca, stacksave and stackrestore. Addresses are those of .local memory.
//
//	alloca.u64 d, size, alignment;
//	stacksave.u64 d;
//	stackrestore.u64 a;
func (c *compiler) stack(o *op) {
	t := c.takeType()
	if t.Width() != 64 {
		c.fail("addresses have 64 bits")
	}
	o.kind = opRun
	switch c.in.Op {
	case "alloca":
		c.alloca(o, t)
	case "stacksave":
		c.args(1)
		c.dst(&o.d, 0, t)
		o.run = func(w *warp, o *op, mask uint32) error {
			top := lanes(w.stack().top)
			w.setReg(o.d, &top, mask)
			return nil
		}
	default:
		c.args(1)
		c.src(&o.a, 0, t)
		o.run = restoreStack
	}
}

func (c *compiler) alloca(o *op, t ptx.Type) {
	boundary := uint64(8)
	if len(c.in.Args) == 3 {
		boundary = c.arg(2).Bits
	}
	if n := len(c.in.Args); n != 2 && n != 3 || boundary == 0 || boundary&(boundary-1) != 0 || boundary > maxStack {
		c.fail("alloca takes a size, and an alignment that is a power of two")
		return
	}
	c.dst(&o.d, 0, t)
	c.src(&o.a, 1, t)
	o.run = func(w *warp, o *op, mask uint32) error {
		st := w.stack()
		out := w.regs[o.d]
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			size := w.regs[o.a][lane]
			at := (st.top[lane] + boundary - 1) &^ (boundary - 1)
			if err := w.grow(at+min(size, 2*maxLocal), lane); err != nil {
				return err
			}
			st.top[lane], out[lane] = at+size, at
		}
		w.setReg(o.d, &out, mask)
		return nil
	}
}

func restoreStack(w *warp, o *op, mask uint32) error {
	st := w.stack()
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		to := w.regs[o.a][lane]
		if to < st.base[lane] || to > st.top[lane] {
			return w.fault(IllegalInstruction, lane, "%#x is not within the stack of the function", to)
		}
		st.top[lane] = to
	}
	return nil
}
