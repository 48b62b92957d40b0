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
	if c.in.Op == "not" {
		flipA = ^flipA
	}
	how := map[string]uint8{"and": andMasks, "or": orMasks, "xor": xorMasks, "not": firstMask, "mov": firstMask}[c.in.Op]
	o.kind, o.p = opPredicate, d
	if hasVectors && !c.program.loops && d >= 0 {
		o.step = logicStep
	}
	o.logic = logic{how: how, a: a, b: b, flipA: flipA, flipB: flipB}
}

// logic combines two predicates, after their negation where flipA or flipB is all ones.
type logic struct {
	how          uint8
	a, b         int32
	flipA, flipB uint32
}

const (
	firstMask uint8 = iota
	andMasks
	orMasks
	xorMasks
)

func (l *logic) of(preds []uint32) uint32 {
	a, b := preds[l.a]^l.flipA, preds[l.b]^l.flipB
	switch l.how {
	case andMasks:
		return a & b
	case orMasks:
		return a | b
	case xorMasks:
		return a ^ b
	}
	return a
}
