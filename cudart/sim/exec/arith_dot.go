package exec

import "gpurun/cudart/sim/ptx"

// dotProduct compiles dp4a and dp2a, which add products of parts of a and of bytes of b to c:
// dp4a of four bytes, dp2a of two halves and the lower or upper bytes.
func (c *compiler) dotProduct(o *op) {
	parts, width, first := 4, 8, 0
	if c.in.Op == "dp2a" {
		parts, width = 2, 16
		switch c.take("lo", "hi") {
		case "hi":
			first = 2
		case "":
			c.fail("dp2a needs .lo or .hi")
		}
	}
	ta, tb := c.takeType(), c.takeType()
	if ta != u32 && ta != s32 || tb != u32 && tb != s32 {
		c.fail("%s takes two types, of .u32 and .s32", c.in.Op)
	}
	partA, partB := ptx.Type{Class: ta.Class, Bits: width, Lanes: 1}, ptx.Type{Class: tb.Class, Bits: 8, Lanes: 1}
	o.alu = lift3(func(a, b, sum uint64) uint64 {
		b >>= 8 * first
		for i := range parts {
			sum += extend(a>>(i*width), partA) * extend(b>>(8*i), partB)
		}
		return sum & widthMask(32)
	})
	c.dstSrc(o, b32, b32, b32, b32)
}
