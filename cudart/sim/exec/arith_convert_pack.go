package exec

import "gpurun/cudart/sim/ptx"

// packTypes are the types to which cvt.pack converts. Those below 16 bits leave room for c.
var packTypes = map[string]ptx.Type{
	"u16": u16, "s16": {Class: ptx.Signed, Bits: 16, Lanes: 1},
	"u8": {Class: ptx.Unsigned, Bits: 8, Lanes: 1}, "s8": {Class: ptx.Signed, Bits: 8, Lanes: 1},
	"u4": {Class: ptx.Unsigned, Bits: 4, Lanes: 1}, "s4": {Class: ptx.Signed, Bits: 4, Lanes: 1},
	"u2": {Class: ptx.Unsigned, Bits: 2, Lanes: 1}, "s2": {Class: ptx.Signed, Bits: 2, Lanes: 1},
}

// convertPack compiles cvt.pack.sat.type.s32{.b32} d, a, b{, c}: a and b, clamped to the type, with a
// above b. Below 16 bits, c is shifted in above them.
func (c *compiler) convertPack(o *op) {
	sat, name := c.has("sat"), c.take("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2")
	to := packTypes[name]
	if !sat || name == "" || c.takeType() != s32 {
		c.fail("cvt.pack takes .sat, a type of up to 16 bits, and .s32")
		return
	}
	cv, mask := conversion{to: to, from: s32, sat: true}, widthMask(to.Bits)
	clamp := func(a uint64) uint64 { return cv.intToInt(a) & mask }
	if to.Bits == 16 {
		o.alu = lift2(func(a, b uint64) uint64 { return clamp(a)<<16 | clamp(b) })
		c.dstSrc(o, u32, s32, s32)
		return
	}
	if c.takeType() != b32 {
		c.fail("cvt.pack to .%s takes .b32 as its last type", name)
	}
	o.alu = lift3(func(a, b, c uint64) uint64 {
		return (c<<(2*to.Bits) | clamp(a)<<to.Bits | clamp(b)) & widthMask(32)
	})
	c.dstSrc(o, u32, s32, s32, b32)
}
