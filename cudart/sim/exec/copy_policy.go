package exec

// createPolicy compiles createpolicy, which makes a cache policy for .L2::cache_hint. Policies are opaque
// and change no result: here they are all zero.
//
//	createpolicy.fractional.priority{.priority}.b64 d{, fraction};
//	createpolicy.range{.global}.priority{.priority}.b64 d, [a], size, size;
//	createpolicy.cvt.L2.b64 d, property;
func (c *compiler) createPolicy(o *op) {
	c.needs(80, 7, 4)
	kind, n := c.take("fractional", "range", "cvt"), 2
	switch kind {
	case "":
		c.fail("createpolicy needs .fractional, .range or .cvt")
	case "range":
		c.has("global")
		n = 4
	case "fractional":
		n = len(c.in.Args)
	}
	c.has("L2")
	for c.take("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged") != "" {
	}
	if c.takeType() != b64 || n > 2 && kind == "fractional" {
		c.fail("this form of createpolicy is not implemented")
	}
	c.args(n)
	c.dst(&o.d, 0, b64)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		w.setReg(o.d, &lanes{}, mask)
		return nil
	}
}
