package exec

import "gpurun/cudart/sim/ptx"

// takePolicy takes .L2::cache_hint and its operand, the last one: a cache policy. Policies do not
// change what a program computes. The other operands are as without it.
func (c *compiler) takePolicy() {
	if !c.has("L2::cache_hint") {
		return
	}
	c.needs(80, 7, 4)
	last := len(c.in.Args) - 1
	if last < 0 {
		c.fail("%s needs a cache policy", c.in.Op)
		return
	}
	c.src(new(int32), last, b64)
	in := *c.in
	in.Args = in.Args[:last]
	c.in = &in
}

// createPolicy compiles createpolicy, whose result is opaque. The simulator has no caches, and makes
// it 0.
//
//	createpolicy.fractional.primary{.secondary}.b64 d{, fraction};
//	createpolicy.range{.global}.primary{.secondary}.b64 d, [a], size, total;
//	createpolicy.cvt.L2.b64 d, property;
func (c *compiler) createPolicy(o *op) {
	c.needs(80, 7, 4)
	kind := c.take("fractional", "range", "cvt")
	primary := c.take("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged")
	c.take("L2::evict_first", "L2::evict_unchanged")
	switch {
	case kind == "fractional" && primary != "":
		if len(c.in.Args) == 2 {
			c.src(&o.a, 1, typeF32)
		} else {
			c.args(1)
		}
	case kind == "range" && primary != "":
		c.take("global")
		c.args(4)
		c.memory(o, 1, ptx.Global, b32)
		c.src(&o.b, 2, u32)
		c.src(&o.c, 3, u32)
	case kind == "cvt" && c.has("L2"):
		c.args(2)
		c.src(&o.a, 1, b64)
	default:
		c.fail("this form of createpolicy is not implemented")
	}
	if c.takeType() != b64 {
		c.fail("createpolicy makes a .b64")
	}
	c.dst(&o.d, 0, b64)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		w.setReg(o.d, &lanes{}, mask)
		return nil
	}
}

// hints are the forms of the instructions that only talk to caches: the modifiers of each.
var hints = map[string][]string{
	"prefetch":      {"global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap", "const", "param"},
	"prefetchu":     {"L1"},
	"applypriority": {"global", "L2::evict_normal"},
	"discard":       {"global", "L2"},
}

// hint compiles prefetch, prefetchu, applypriority and discard, which have no effect here. The address
// is not accessed: a prefetch of one that does not exist is no fault.
func (c *compiler) hint(o *op) {
	for c.take(hints[c.in.Op]...) != "" {
	}
	operands := 1
	if c.in.Op == "applypriority" || c.in.Op == "discard" {
		operands = 2
		if size := c.arg(1); size.Kind != ptx.Immediate || size.Bits != 128 {
			c.fail("%s is for 128 bytes", c.in.Op)
		}
	}
	c.args(operands)
	if c.arg(0).Kind != ptx.Address {
		c.fail("%s takes an address", c.in.Op)
	}
	o.kind = opRun
	o.run = func(*warp, *op, uint32) error { return nil }
}
