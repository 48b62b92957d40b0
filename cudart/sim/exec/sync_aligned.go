package exec

import "gpurun/cudart/sim/ptx"

// aligned makes an op that all 32 lanes of a warp execute together: it waits
// until they have arrived, and calls f once. A warp with fewer lanes cannot
// execute it.
func (c *compiler) aligned(o *op, f func(w *warp, o *op) (verdict, error)) {
	if !c.has("sync") || !c.has("aligned") {
		c.fail("%s needs .sync.aligned", c.in.Op)
	}
	o.kind = opControl
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		switch {
		case mask == fullMask:
			return f(w, o)
		case w.live != fullMask:
			return suspended, w.fault(IllegalInstruction, lowest(mask),
				"all 32 lanes of a warp must execute this, and it has only %#x", w.live)
		}
		s := w.current
		s.state = reconverging
		w.pushPath(s)
		return suspended, nil
	}
}

// alignedRun is aligned for what is done at once.
func (c *compiler) alignedRun(o *op, f func(w *warp, o *op) error) {
	c.aligned(o, func(w *warp, o *op) (verdict, error) { return proceed, f(w, o) })
}

// sources makes the slots it returns read the n elements of operand i.
func (c *compiler) sources(i, n int, t ptx.Type) []int32 {
	slots := make([]int32, n)
	for k, e := range c.elements(i, n) {
		c.srcOperand(&slots[k], e, t)
	}
	return slots
}

// destinations makes the slots it returns write the n elements of operand i.
func (c *compiler) destinations(i, n int, t ptx.Type) []int32 {
	slots := make([]int32, n)
	for k, e := range c.elements(i, n) {
		c.dstOperand(&slots[k], e, t)
	}
	return slots
}

// elements returns the elements of operand i, a vector of n, or fails.
func (c *compiler) elements(i, n int) []ptx.Operand {
	o := c.arg(i)
	if o.Kind != ptx.Vector && n == 1 {
		return []ptx.Operand{o}
	}
	if len(o.Elems) != n || o.Kind != ptx.Vector {
		c.fail("operand %d of %s must have %d elements", i+1, c.in.Op, n)
		return nil
	}
	return o.Elems
}

// needs fails below a target and a version of PTX.
func (c *compiler) needs(sm, major, minor int) {
	if p := c.program.module; p.SM < sm || !p.AtLeast(major, minor) {
		c.fail("%s needs target sm_%d and PTX %d.%d", c.in.Op, sm, major, minor)
	}
}
