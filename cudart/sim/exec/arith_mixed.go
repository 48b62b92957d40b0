package exec

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// mixedType takes the second type of an instruction with mixed precision, such as add.f32.bf16.
func (c *compiler) mixedType(t ptx.Type) (narrow ptx.Type, ok bool) {
	if !slices.Contains(c.mods, "f16") && !slices.Contains(c.mods, "bf16") {
		return narrow, false
	}
	narrow = c.takeType()
	if op := c.in.Op; t != typeF32 || op != "add" && op != "sub" && op != "fma" {
		c.fail("%s has no form of mixed precision on these types", op)
	}
	c.needs(100, 8, 6)
	return narrow, true
}

// mixed compiles add, sub and fma on .f32, whose sources but the last are narrower. They are
// widened first, which is exact.
func (c *compiler) mixed(o *op, form floatForm, narrow ptx.Type) {
	if form.ftz {
		c.fail("%s of mixed precision has no .ftz", form.op)
	}
	widen, wide := f16ToF32, form.alu(typeF32)
	if narrow == typeBF16 {
		widen = bf16ToF32
	}
	if wide == nil {
		return
	}
	if form.op == "fma" {
		o.alu = func(d, a, b, c *lanes) {
			var x, y lanes
			widen(&x, a, nil, nil)
			widen(&y, b, nil, nil)
			wide(d, &x, &y, c)
		}
		c.dstSrc(o, typeF32, narrow, narrow, typeF32)
		return
	}
	o.alu = func(d, a, b, _ *lanes) {
		var x lanes
		widen(&x, a, nil, nil)
		wide(d, &x, b, b)
	}
	c.dstSrc(o, typeF32, narrow, typeF32)
}
