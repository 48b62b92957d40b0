package exec

import "gpurun/cudart/sim/ptx"

func (c *compiler) logic(o *op, t ptx.Type) alu {
	if t.Class == ptx.Pred {
		c.predicateLogic(o)
		return nil
	}
	switch c.in.Op {
	case "and":
		return byWidth[alu](t, andBits, andBits, andBits)
	case "or":
		return byWidth[alu](t, orBits, orBits, orBits)
	case "xor":
		return byWidth[alu](t, xorBits, xorBits, xorBits)
	case "not":
		return byWidth[alu](t, notBits[uint16], notBits[uint32], notBits[uint64])
	}
	return byWidth(t, lift1(cnot), lift1(cnot), lift1(cnot))
}

// predicateLogic compiles and, or, xor, not and mov on predicates.
func (c *compiler) predicateLogic(o *op) {
	d := c.dstPred(c.arg(0))
	a, flipA := c.srcPred(c.arg(1))
	b, flipB := a, uint32(0)
	if len(c.in.Args) == 3 {
		b, flipB = c.srcPred(c.arg(2))
	}
	combine := map[string]func(a, b uint32) uint32{
		"and": func(a, b uint32) uint32 { return a & b },
		"or":  func(a, b uint32) uint32 { return a | b },
		"xor": func(a, b uint32) uint32 { return a ^ b },
		"not": func(a, _ uint32) uint32 { return ^a },
		"mov": func(a, _ uint32) uint32 { return a },
	}[c.in.Op]
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.setPred(d, combine(w.preds[a]^flipA, w.preds[b]^flipB), mask)
		return nil
	}
}
