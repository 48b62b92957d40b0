package exec

import "gpurun/cudart/sim/ptx"

func (c *compiler) branch(o *op) {
	c.take("uni")
	c.args(1)
	label := c.arg(0)
	if label.Kind != ptx.Label {
		c.fail("the label is not defined here")
	}
	o.kind, o.target = opBranch, int32(label.Target)
}

// branchTable compiles brx.idx, which compilers make of a dense switch.
func (c *compiler) branchTable(o *op) {
	if !c.has("idx") {
		c.fail("brx needs .idx")
	}
	c.take("uni")
	c.args(2)
	c.src(&o.a, 0, u32)
	if o.table = c.arg(1).Table; o.table == nil {
		c.fail("the branch targets are not defined here")
	}
	o.kind = opControl
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		groups := map[uint32]uint32{}
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			index := uint32(w.regs[o.a][lane])
			if int(index) >= len(o.table) {
				return suspended, w.fault(IllegalInstruction, lane, "branch index %d is outside the table of %d", index,
					len(o.table))
			}
			groups[index] |= 1 << lane
		}
		for index, lanes := range groups {
			w.pushPath(path{pc: int32(o.table[index]), mask: lanes, depth: w.current.depth})
		}
		return suspended, nil
	}
}

// exitLanes ends the lanes of the running path.
func exitLanes(w *warp, _ *op, mask uint32) (verdict, error) {
	w.live &^= mask
	// Paths that waited for these lanes may go on.
	for i := range w.paths[:w.others] {
		if w.paths[i].state == reconverging {
			w.paths[i].state = runnable
		}
	}
	w.leaveCluster(mask)
	w.block.exit(mask)
	return finished, nil
}

// end compiles exit, and ret, which ends the threads in a kernel and the call in a function.
func (c *compiler) end(o *op) {
	c.take("uni")
	c.args(0)
	o.kind, o.control = opControl, exitLanes
	if c.in.Op == "ret" {
		o.control = c.unit.returns()
		c.useResults()
	}
}

// profilerEvent compiles pmevent, which only a profiler would see.
func (c *compiler) profilerEvent(o *op) {
	c.take("mask")
	c.args(1)
	if c.arg(0).Kind != ptx.Immediate {
		c.fail("pmevent needs a literal")
	}
	o.kind = opRun
	o.run = func(*warp, *op, uint32) error { return nil }
}

func (c *compiler) trap(o *op) {
	c.args(0)
	o.kind, o.run = opRun, trap
}

// trap ends the kernel, as brkpt does where no debugger is attached.
func trap(w *warp, o *op, mask uint32) error {
	return w.fault(Trap, lowest(mask), "the kernel executed %s", o.inst.Op)
}

// nanosleep ends the turn of the path, which polls as a rule.
func (c *compiler) nanosleep(o *op) {
	c.takeType()
	c.args(1)
	c.src(&o.a, 0, u32)
	o.kind = opControl
	o.control = func(*warp, *op, uint32) (verdict, error) { return yielded, nil }
}
