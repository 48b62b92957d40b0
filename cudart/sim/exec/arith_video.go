package exec

import (
	"math"
	"math/bits"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// videoSource reads a part of a register, sign- or zero-extended.
type videoSource struct{ shift, bits int }

// videoParts are the selectors of scalar video instructions; "" is the whole register.
var videoParts = map[string]videoSource{
	"": {0, 32}, "h0": {0, 16}, "h1": {16, 16}, "b0": {0, 8}, "b1": {8, 8}, "b2": {16, 8}, "b3": {24, 8},
}

func (s videoSource) of(x uint64, class ptx.Class) int64 {
	return int64(extend(x>>s.shift, ptx.Type{Class: class, Bits: s.bits, Lanes: 1}))
}

// videoOperand returns operand i without its selector and sign, and these.
func (c *compiler) videoOperand(i int) (o ptx.Operand, part string, minus bool) {
	o = c.arg(i)
	part, minus, o.Part, o.Minus = o.Part, o.Minus, "", false
	return o, part, minus
}

// videoTypes takes n types, each .u32 or .s32.
func (c *compiler) videoTypes(n int) []ptx.Class {
	classes := make([]ptx.Class, n)
	for i := range classes {
		t := c.takeType()
		if t != u32 && t != s32 {
			c.fail("%s takes .u32 and .s32", c.in.Op)
		}
		classes[i] = t.Class
	}
	return classes
}

// video compiles the scalar video instructions but vmad:
//
//	vop.dtype.atype.btype{.sat}{.mode}{.op2} d{.dsel}, a{.asel}, b{.bsel}{, c};
//	vset.atype.btype.cmp{.op2} d{.dsel}, a{.asel}, b{.bsel}{, c};
func (c *compiler) video(o *op) {
	v, types := videoOp{second: c.take("add", "min", "max")}, []ptx.Class{ptx.Unsigned}
	if c.in.Op == "vset" {
		types = append(types, c.videoTypes(2)...)
		v.primary = c.videoComparison()
	} else {
		types = c.videoTypes(3)
		v.sat = c.has("sat")
		v.primary = c.videoPrimary()
	}
	d, dsel, _ := c.videoOperand(0)
	a, asel, minusA := c.videoOperand(1)
	b, bsel, minusB := c.videoOperand(2)
	var known [3]bool
	v.target, known[0] = videoParts[dsel]
	v.a, known[1] = videoParts[asel]
	v.b, known[2] = videoParts[bsel]
	v.merge, v.classes = dsel != "", [3]ptx.Class(types)
	if known != [3]bool{true, true, true} || minusA || minusB || v.merge && v.second != "" || v.primary == nil {
		c.fail("this form of %s is not implemented", c.in.Op)
		return
	}
	c.dstOperand(&o.d, d, b32)
	c.srcOperand(&o.a, a, b32)
	c.srcOperand(&o.b, b, b32)
	if v.merge || v.second != "" {
		c.args(4)
		c.src(&o.c, 3, b32)
	} else {
		c.args(3)
	}
	o.alu = lift3(v.compute)
}

// videoOp is a compiled scalar video instruction.
type videoOp struct {
	primary      func(a, b int64) int64
	second       string
	sat, merge   bool
	classes      [3]ptx.Class // of d, a and b
	target, a, b videoSource
}

func (v videoOp) compute(a, b, c uint64) uint64 {
	x := v.primary(v.a.of(a, v.classes[1]), v.b.of(b, v.classes[2]))
	if v.sat {
		x = clampTo(x, ptx.Type{Class: v.classes[0], Bits: v.target.bits, Lanes: 1})
	}
	x = v.combine(x, videoParts[""].of(c, v.classes[0]))
	if !v.merge {
		return uint64(uint32(x))
	}
	field := widthMask(v.target.bits) << v.target.shift
	return c&^field&widthMask(32) | uint64(x)<<v.target.shift&field
}

// combine applies the secondary operation.
func (v videoOp) combine(x, third int64) int64 {
	switch v.second {
	case "add":
		return x + third
	case "min":
		return min(x, third)
	case "max":
		return max(x, third)
	}
	return x
}

// clampTo limits x to the range of t.
func clampTo(x int64, t ptx.Type) int64 {
	if t.Class == ptx.Signed {
		limit := int64(1) << (t.Bits - 1)
		return max(-limit, min(x, limit-1))
	}
	return max(0, min(x, int64(widthMask(t.Bits))))
}

// videoPrimary finds the primary operation of an instruction, scalar or SIMD; nil if there is none.
func (c *compiler) videoPrimary() func(a, b int64) int64 {
	switch strings.TrimRight(c.in.Op, "24") {
	case "vadd":
		return func(a, b int64) int64 { return a + b }
	case "vsub":
		return func(a, b int64) int64 { return a - b }
	case "vabsdiff":
		return func(a, b int64) int64 { return max(a-b, b-a) }
	case "vmin":
		return func(a, b int64) int64 { return min(a, b) }
	case "vmax":
		return func(a, b int64) int64 { return max(a, b) }
	case "vavrg": // rounds halves away from zero
		return func(a, b int64) int64 {
			if a+b >= 0 {
				return (a + b + 1) >> 1
			}
			return (a + b) >> 1
		}
	}
	clamp := c.takeClamp()
	count := func(b int64) int64 {
		if clamp {
			return min(b, 32)
		}
		return b & 31
	}
	if c.in.Op == "vshl" {
		return func(a, b int64) int64 {
			n := count(b)
			if n == 32 { // no bit of the low word is left, and more than 63 bits would not fit
				a = max(-1<<30, min(a, 1<<30))
			}
			return a << n
		}
	}
	return func(a, b int64) int64 { return a >> count(b) }
}

// videoComparison is the primary operation of vset.
func (c *compiler) videoComparison() func(a, b int64) int64 {
	r := c.takeRelation()
	return func(a, b int64) int64 { return int64(boolMask(r.sign(a-b)) & 1) }
}

// videoMad compiles vmad.dtype.atype.btype{.po}{.sat}{.scale} d, {-}a{.asel}, {-}b{.bsel}, {-}c.
func (c *compiler) videoMad(o *op) {
	v := videoMad{sat: c.has("sat"), plusOne: c.has("po")}
	switch c.take("shr7", "shr15") {
	case "shr7":
		v.scale = 7
	case "shr15":
		v.scale = 15
	}
	types := c.videoTypes(3)
	a, asel, minusA := c.videoOperand(1)
	b, bsel, minusB := c.videoOperand(2)
	third, csel, minusC := c.videoOperand(3)
	var knownA, knownB bool
	v.a, knownA = videoParts[asel]
	v.b, knownB = videoParts[bsel]
	v.classes = [2]ptx.Class(types[1:])
	v.minusProduct, v.minusC = minusA != minusB, minusC
	v.signed = types[1] == ptx.Signed || types[2] == ptx.Signed || v.minusProduct || minusC
	if !knownA || !knownB || csel != "" || v.minusProduct && minusC || v.plusOne && (minusA || minusB || minusC) {
		c.fail("this form of vmad is not implemented")
	}
	c.args(4)
	c.dst(&o.d, 0, b32)
	c.srcOperand(&o.a, a, b32)
	c.srcOperand(&o.b, b, b32)
	c.srcOperand(&o.c, third, b32)
	o.alu = lift3(v.compute)
}

type videoMad struct {
	a, b                          videoSource
	classes                       [2]ptx.Class
	minusProduct, minusC, plusOne bool
	sat, signed                   bool
	scale                         int
}

// compute works on 128 bits, high:low.
func (v videoMad) compute(a, b, c uint64) uint64 {
	x, y := uint64(v.a.of(a, v.classes[0])), uint64(v.b.of(b, v.classes[1]))
	high, low := mulHiS64(x, y), x*y
	third, one := c&widthMask(32), uint64(0)
	if v.signed && (v.minusProduct || v.classes != [2]ptx.Class{ptx.Unsigned, ptx.Unsigned}) {
		third = uint64(int64(int32(c)))
	}
	switch {
	case v.plusOne:
		one = 1
	case v.minusProduct:
		high, low, one = ^high, ^low, 1
	case v.minusC:
		third, one = ^third, 1
	}
	low, carry := bits.Add64(low, third, one)
	high += uint64(int64(third)>>63) + carry
	low = low>>v.scale | high<<(64-v.scale)
	high = uint64(int64(high) >> v.scale)
	if v.sat {
		low = clamp128(high, low, v.signed)
	}
	return low & widthMask(32)
}

// clamp128 limits a signed number of 128 bits to the range of .s32 or .u32.
func clamp128(high, low uint64, signed bool) uint64 {
	least, most := int64(0), int64(math.MaxUint32)
	if signed {
		least, most = math.MinInt32, math.MaxInt32
	}
	switch {
	case high == uint64(int64(low)>>63): // 64 bits hold it
		return uint64(max(least, min(int64(low), most)))
	case int64(high) < 0:
		return uint64(least)
	}
	return uint64(most)
}
