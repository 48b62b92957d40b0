package exec

// selp compiles d = p ? a : b.
func (c *compiler) selp(o *op) {
	t := c.takeType()
	c.args(4)
	c.dst(&o.d, 0, t)
	c.src(&o.a, 1, t)
	c.src(&o.b, 2, t)
	p, flip := c.srcPred(c.arg(3))
	o.kind, o.takesAffine = opRun, true
	if !c.program.loops {
		o.step = chooseStep(p, flip)
	}
	o.run = func(w *warp, o *op, mask uint32) error {
		yes := w.preds[p] ^ flip
		switch {
		case mask == fullMask && yes == fullMask && w.copyAffine(o.d, o.a):
			return nil
		case mask == fullMask && yes == 0 && w.copyAffine(o.d, o.b):
			return nil
		}
		w.expandOperands(o)
		a, b := &w.regs[o.a], &w.regs[o.b]
		if mask == fullMask {
			choose(&w.regs[o.d], a, b, yes)
			return nil
		}
		choose(&w.scratch, a, b, yes)
		w.setReg(o.d, &w.scratch, mask)
		return nil
	}
}

// slct compiles d = c >= 0 ? a : b. A NaN selects b, and -0 selects a.
func (c *compiler) slct(o *op) {
	ftz := c.has("ftz")
	t, by := c.takeType(), c.takeType()
	if by != s32 && by != typeF32 || ftz && by != typeF32 {
		c.fail("slct selects by .s32 or .f32; .ftz is for .f32")
	}
	notNegative := func(c uint64) bool { return int32(c) >= 0 }
	if by == typeF32 {
		notNegative = func(c uint64) bool {
			if ftz {
				c = binary32.flush(c)
			}
			return f32(c) >= 0
		}
	}
	o.alu = lift3(func(a, b, c uint64) uint64 {
		if notNegative(c) {
			return a
		}
		return b
	})
	c.dstSrc(o, t, t, t, by)
}
