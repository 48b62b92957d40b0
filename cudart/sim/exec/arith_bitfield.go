package exec

import "gpurun/cudart/sim/ptx"

func (c *compiler) funnel(o *op) {
	left, clamp := c.take("l", "r") == "l", c.take("clamp", "wrap") == "clamp"
	c.takeType()
	o.alu = lift3(func(lo, hi, n uint64) uint64 {
		if n &= 0xffffffff; clamp {
			n = min(n, 32)
		} else {
			n &= 31
		}
		if left {
			return funnelLeft(lo, hi, n)
		}
		return funnelRight(lo, hi, n)
	})
	c.dstSrc(o, u32, u32, u32, u32)
}

// bitCount compiles instructions with one source whose result has 32 bits.
func (c *compiler) bitCount(o *op) {
	shiftamt := c.has("shiftamt")
	t := c.takeType()
	switch c.in.Op {
	case "popc":
		o.alu = byWidth(t, nil, lift1(popc), lift1(popc))
	case "clz":
		o.alu = byWidth(t, nil, lift1(clz32), lift1(clz64))
	case "bfind":
		o.alu = bySign(t, nil, lift1(bfind[uint32](32, shiftamt)), lift1(bfind[uint64](64, shiftamt)),
			nil, lift1(bfind[int32](32, shiftamt)), lift1(bfind[int64](64, shiftamt)))
	}
	c.dstSrc(o, u32, t)
}

func (c *compiler) bitField(o *op) {
	t := c.takeType()
	switch c.in.Op {
	case "brev":
		o.alu = byWidth(t, nil, lift1(brev32), lift1(brev64))
		c.dstSrc(o, t, t)
	case "bfe":
		o.alu = bySign(t, nil, lift3(bfe[uint32](32)), lift3(bfe[uint64](64)), nil, lift3(bfe[int32](32)),
			lift3(bfe[int64](64)))
		c.dstSrc(o, t, t, u32, u32)
	case "bfi":
		c.bitFieldInsert(o, t)
	}
}

// bitFieldInsert compiles bfi, whose four sources are one more than an alu
// takes.
func (c *compiler) bitFieldInsert(o *op, t ptx.Type) {
	insert := byWidth(t, nil, bfi(32), bfi(64))
	if insert == nil {
		return
	}
	length := new(int32)
	c.args(5)
	c.dst(&o.d, 0, t)
	c.src(&o.a, 1, t)
	c.src(&o.b, 2, t)
	c.src(&o.c, 3, u32)
	c.src(length, 4, u32)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var out lanes
		a, b, pos, n := &w.regs[o.a], &w.regs[o.b], &w.regs[o.c], &w.regs[*length]
		for i := range out {
			out[i] = insert(a[i], b[i], pos[i], n[i])
		}
		w.setReg(o.d, &out, mask)
		return nil
	}
}

func (c *compiler) permute(o *op) {
	c.takeType()
	o.alu = lift3(prmt)
	if mode := c.take("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"); mode != "" {
		selectors := prmtSelector[mode]
		o.alu = lift3(func(a, b, sel uint64) uint64 { return prmt(a, b, selectors[sel&3]) })
	}
	c.dstSrc(o, b32, b32, b32, b32)
}
