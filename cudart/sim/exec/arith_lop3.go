package exec

import "gpurun/cudart/sim/ptx"

// lop3 compiles lop3.b32 d, a, b, c, table, and lop3.bool.b32 d|p, a, b, c, table, q, whose p is
// (d != 0) bool q.
func (c *compiler) lop3(o *op) {
	how := c.take("or", "and")
	if c.takeType() != b32 {
		c.fail("lop3 takes .b32")
	}
	table := c.arg(4)
	if table.Kind != ptx.Immediate || table.Bits > 255 {
		c.fail("lop3 needs a literal table")
	}
	o.alu = lift3(lop3(table.Bits))
	if how == "" {
		c.dst(&o.d, 0, b32)
	} else {
		c.dstWithPred(o)
	}
	c.src(&o.a, 1, b32)
	c.src(&o.b, 2, b32)
	c.src(&o.c, 3, b32)
	if b := c.takeCombiner(how, 5); how != "" {
		o.kind = opRun
		o.run = func(w *warp, o *op, mask uint32) error {
			var out lanes
			o.alu(&out, &w.regs[o.a], &w.regs[o.b], &w.regs[o.c])
			var nonzero uint32
			for i, x := range out {
				nonzero |= boolMask(x != 0) & (1 << i)
			}
			p := b.combine(w, nonzero)
			w.setReg(o.d, &out, mask)
			w.setPred(o.p, p, mask)
			return nil
		}
	}
}
