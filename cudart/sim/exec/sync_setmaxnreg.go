package exec

// setMaxRegisters compiles setmaxnreg.{inc,dec}.sync.aligned.u32 n. Registers are
// not scarce here: it only checks that all warps of a warpgroup agree.
func (c *compiler) setMaxRegisters(o *op) {
	const least, most, step = 24, 256, 8
	if c.take("inc", "dec") == "" || !c.has("sync") || !c.has("aligned") || c.takeType() != u32 {
		c.fail("setmaxnreg is .inc or .dec, .sync.aligned.u32")
	}
	c.args(1)
	n := c.arg(0).Bits
	if n < least || n > most || n%step != 0 {
		c.fail("setmaxnreg takes a literal from %d to %d in steps of %d", least, most, step)
	}
	if m := c.program.module; m.SM < 90 || m.Feature == "" || !m.AtLeast(8, 0) {
		c.fail("setmaxnreg needs target sm_90a and PTX 8.0")
	}
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		if mask != w.live {
			return w.fault(IllegalInstruction, lowest(w.live&^mask), "not all lanes of the warp execute setmaxnreg")
		}
		return w.countRegisters(n)
	}
}

// countRegisters notes a warp's setmaxnreg, and compares it with the one of the
// same place in the sequences of the other warps of its warpgroup.
func (w *warp) countRegisters(n uint64) error {
	at := len(w.maxRegisters)
	w.maxRegisters = append(w.maxRegisters, n)
	for _, v := range w.block.warps {
		if v.index/4 == w.index/4 && len(v.maxRegisters) > at && v.maxRegisters[at] != n {
			return w.fault(IllegalInstruction, lowest(w.live), "the warps of a warpgroup ask for %d and %d registers",
				v.maxRegisters[at], n)
		}
	}
	return nil
}

// elect compiles elect.sync d|p, members: p is true for one of the members, whose
// lane is d, always the same one.
func (c *compiler) elect(o *op) {
	if m := c.program.module; m.SM < 90 || !m.AtLeast(8, 0) {
		c.fail("elect needs target sm_90 and PTX 8.0")
	}
	m := c.meeting()
	c.args(2)
	c.dstWithPred(o)
	c.src(&m.members, 1, b32)
	m.exchange = func(v *exchanged, group uint32) {
		leader := lowest(group)
		v.give(group, uint64(leader))
		v.pred |= 1 << leader
	}
	c.meets(o, m)
}
