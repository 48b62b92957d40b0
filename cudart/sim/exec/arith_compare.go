package exec

import "gpurun/cudart/sim/ptx"

// combiner is the Boolean operator of a comparison and its predicate operand.
type combiner struct {
	how  string // "and", "or", "xor"; "" for none
	pred int32
	flip uint32 // of the predicate
}

// takeCombiner reads the predicate, which is operand i, if the instruction has an operator.
func (c *compiler) takeCombiner(how string, i int) combiner {
	b := combiner{how: how}
	if how == "" {
		c.args(i)
		return b
	}
	c.args(i + 1)
	b.pred, b.flip = c.srcPred(c.arg(i))
	return b
}

// combine applies the operator to a result of the comparison.
func (b combiner) combine(w *warp, result uint32) uint32 {
	with := w.preds[b.pred] ^ b.flip
	switch b.how {
	case "and":
		return result & with
	case "or":
		return result | with
	case "xor":
		return result ^ with
	}
	return result
}

// setp compiles setp.cmp[.bool] p[|q], a, b[, [!]c].
func (c *compiler) setp(o *op) {
	r, how := c.takeRelation(), c.take("and", "or", "xor")
	ftz, t := c.has("ftz"), c.takeType()
	o.kind = opCompare
	o.cmp, o.test = c.comparison(r, t, ftz), r.affine(t)
	o.p, o.q = c.dstPreds()
	c.src(&o.a, 1, t)
	c.src(&o.b, 2, t)
	b := c.takeCombiner(how, 3)
	switch {
	case t.Lanes == 2:
		c.setpPacked(o, b)
	case how != "" || o.q >= 0 || o.p < 0:
		o.kind, o.takesAffine = opRun, true
		o.run = func(w *warp, o *op, mask uint32) error {
			yes := w.compare(o)
			p, q := b.combine(w, yes), b.combine(w, ^yes)
			w.setPred(o.p, p, mask)
			w.setPred(o.q, q, mask)
			return nil
		}
	}
}

// setpPacked compares pairs: p is for the lower halves, and q for the upper ones.
func (c *compiler) setpPacked(o *op, b combiner) {
	if c.arg(0).Kind != ptx.Pair {
		c.fail("setp on pairs writes p|q")
	}
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		low, high := comparePair(o.cmp, &w.regs[o.a], &w.regs[o.b])
		p, q := b.combine(w, low), b.combine(w, high)
		w.setPred(o.p, p, mask)
		w.setPred(o.q, q, mask)
		return nil
	}
}

// comparePair compares the lower halves, and the upper ones.
func comparePair(cmp compare, a, b *lanes) (low, high uint32) {
	var x, y lanes
	for i := range x {
		x[i], y[i] = a[i]>>16, b[i]>>16
	}
	return cmp(a, b), cmp(&x, &y)
}

// set compiles set.cmp[.bool].dtype.stype d, a, b[, [!]c]: like setp, but the result is a number.
func (c *compiler) set(o *op) {
	r, how := c.takeRelation(), c.take("and", "or", "xor")
	ftz := c.has("ftz")
	to, from := c.takeType(), c.takeType()
	cmp := c.comparison(r, from, ftz)
	if from.IsFloat() && from.Bits == 16 && to.IsFloat() && to != from {
		c.fail("set has no form from .%s to .%s", from, to)
	}
	c.dst(&o.d, 0, to)
	c.src(&o.a, 1, from)
	c.src(&o.b, 2, from)
	b, yes := c.takeCombiner(how, 3), valueOfTrue(to, from)
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		var low, high uint32
		if from.Lanes == 2 {
			low, high = comparePair(cmp, &w.regs[o.a], &w.regs[o.b])
			high = b.combine(w, high)
		} else {
			low = cmp(&w.regs[o.a], &w.regs[o.b])
		}
		low = b.combine(w, low)
		var out lanes
		for i := range out {
			out[i] = yes*uint64(low>>i&1) | yes<<16*uint64(high>>i&1)
		}
		w.setReg(o.d, &out, mask)
		return nil
	}
}

// valueOfTrue is 1.0 for a floating-point destination, and all ones for an integer; of pairs that of
// one half.
func valueOfTrue(to, from ptx.Type) uint64 {
	switch {
	case to.IsFloat():
		return formatOf(to).encode(1, toNearestEven)
	case from.Lanes == 2:
		return widthMask(16)
	}
	return widthMask(to.Width())
}
