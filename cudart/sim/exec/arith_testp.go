package exec

// testProperty compiles testp.property.type p, a. Zeros count as normal.
func (c *compiler) testProperty(o *op) {
	property := c.take("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	t := c.takeType()
	if property == "" || t.Lanes != 1 || t != typeF32 && t != typeF64 {
		c.fail("testp takes a property and .f32 or .f64")
		return
	}
	c.args(2)
	o.p = c.dstPred(c.arg(0))
	c.src(&o.a, 1, t)
	f := formatOf(t)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var yes uint32
		for i, x := range w.regs[o.a] {
			yes |= boolMask(f.holds(property, x)) & (1 << i)
		}
		w.setPred(o.p, yes, mask)
		return nil
	}
}

func (f format) holds(property string, x uint64) bool {
	magnitude := x &^ f.sign() & widthMask(1+f.exponent+f.mantissa)
	subnormal := magnitude != 0 && magnitude < 1<<f.mantissa
	switch property {
	case "finite":
		return magnitude < f.infinity()
	case "infinite":
		return magnitude == f.infinity()
	case "number":
		return magnitude <= f.infinity()
	case "notanumber":
		return magnitude > f.infinity()
	case "normal":
		return magnitude < f.infinity() && !subnormal
	}
	return subnormal
}
