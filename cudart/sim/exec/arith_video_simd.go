package exec

import (
	"strings"

	"gpurun/cudart/sim/ptx"
)

// videoSIMD is a compiled video instruction on two halves or four bytes.
type videoSIMD struct {
	primary  func(a, b int64) int64
	sat, sum bool
	parts    int          // 2 or 4
	classes  [3]ptx.Class // of d, a and b
	mask     []int        // parts that are written
	from     [2][]int     // for each part of a and b: which part of b:a it is
}

// videoPacked compiles vop2 and vop4:
//
//	vop.dtype.atype.btype{.sat}{.add} d{.mask}, a{.asel}, b{.bsel}, c;
//	vset.atype.btype.cmp{.add} d{.mask}, a{.asel}, b{.bsel}, c;
func (c *compiler) videoPacked(o *op) {
	v := videoSIMD{parts: int(c.in.Op[len(c.in.Op)-1] - '0')}
	types := []ptx.Class{ptx.Unsigned}
	v.sum = c.has("add")
	if strings.HasPrefix(c.in.Op, "vset") {
		types = append(types, c.videoTypes(2)...)
		v.primary = c.videoComparison()
	} else {
		types = c.videoTypes(3)
		v.sat = c.has("sat")
		v.primary = c.videoPrimary()
	}
	v.classes = [3]ptx.Class(types)
	d, dsel, _ := c.videoOperand(0)
	a, asel, minusA := c.videoOperand(1)
	b, bsel, minusB := c.videoOperand(2)
	v.mask = c.videoSelector(dsel, v.parts, 0)
	v.from[0] = c.videoSelector(asel, v.parts, 0)
	v.from[1] = c.videoSelector(bsel, v.parts, v.parts)
	if minusA || minusB || v.sat && v.sum || len(v.from[0]) != v.parts || len(v.from[1]) != v.parts {
		c.fail("this form of %s is not implemented", c.in.Op)
		return
	}
	c.args(4)
	c.dstOperand(&o.d, d, b32)
	c.srcOperand(&o.a, a, b32)
	c.srcOperand(&o.b, b, b32)
	c.src(&o.c, 3, b32)
	o.alu = lift3(v.compute)
}

// videoSelector reads a selector such as h10 or b7654: the parts by number, the lowest first. Without
// one, all parts from the given one on are selected.
func (c *compiler) videoSelector(text string, parts, from int) []int {
	var selected []int
	if text == "" {
		for i := range parts {
			selected = append(selected, from+i)
		}
		return selected
	}
	letter := byte('h')
	if parts == 4 {
		letter = 'b'
	}
	if text[0] != letter {
		c.fail("%q selects nothing here", text)
	}
	for i := len(text) - 1; i > 0; i-- {
		n := int(text[i]) - '0'
		if n < 0 || n >= 2*parts {
			c.fail("%q selects nothing here", text)
		}
		selected = append(selected, n)
	}
	return selected
}

func (v videoSIMD) compute(a, b, c uint64) uint64 {
	width := 32 / v.parts
	both := a&widthMask(32) | b<<32
	part := func(source, i int) int64 {
		s := videoSource{v.from[source][i] * width, width}
		return s.of(both, v.classes[1+source])
	}
	out, sum := c&widthMask(32), c
	for _, i := range v.mask {
		if i >= v.parts {
			continue
		}
		x := v.primary(part(0, i), part(1, i))
		if v.sat {
			x = clampTo(x, ptx.Type{Class: v.classes[0], Bits: width, Lanes: 1})
		}
		sum += uint64(x)
		field := widthMask(width) << (i * width)
		out = out&^field | uint64(x)<<(i*width)&field
	}
	if v.sum {
		return sum & widthMask(32)
	}
	return out
}
