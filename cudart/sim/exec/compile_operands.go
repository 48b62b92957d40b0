package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// Virtual registers are numbered like the entry's; constants follow.

// use makes slot refer to a register that the current op reads.
func (c *compiler) use(slot *int32, reg int32) {
	*slot = reg
	c.refs = append(c.refs, ref{c.index, slot, false})
}

// def makes slot refer to a register that the current op writes.
func (c *compiler) def(slot *int32, reg int32) {
	*slot = reg
	c.refs = append(c.refs, ref{c.index, slot, true})
}

// arg returns operand i, or fails.
func (c *compiler) arg(i int) ptx.Operand {
	if i < len(c.in.Args) {
		return c.in.Args[i]
	}
	c.fail("%s needs at least %d operands", c.in.Op, i+1)
	return ptx.Operand{Kind: ptx.Sink}
}

// args fails unless the instruction has n operands.
func (c *compiler) args(n int) {
	if len(c.in.Args) != n {
		c.fail("%s takes %d operands, found %d", c.in.Op, n, len(c.in.Args))
	}
}

// src makes slot read operand i as a value of type t.
func (c *compiler) src(slot *int32, i int, t ptx.Type) { c.srcOperand(slot, c.arg(i), t) }

func (c *compiler) srcOperand(slot *int32, o ptx.Operand, t ptx.Type) {
	if o.Whole() {
		c.checkRegister(o.Reg, t)
		c.wide = c.wide || c.width(o, t) > t.Width()
		c.use(slot, int32(o.Reg))
		return
	}
	if k, ok := c.constantOperand(o, t); ok {
		c.use(slot, c.constant(k))
	}
}

// dst makes slot write operand i, a register of type t.
func (c *compiler) dst(slot *int32, i int, t ptx.Type) { c.dstOperand(slot, c.arg(i), t) }

func (c *compiler) dstOperand(slot *int32, o ptx.Operand, t ptx.Type) {
	switch {
	case o.Kind == ptx.Sink:
		c.def(slot, c.sink())
	case o.Whole():
		c.checkRegister(o.Reg, t)
		c.extended = c.extended || t.Class == ptx.Signed && c.width(o, t) > t.Width()
		c.def(slot, int32(o.Reg))
	default:
		c.fail("the destination of %s must be a register", c.in.Op)
	}
}

// sink is a register that is never read.
func (c *compiler) sink() int32 {
	return c.constant(constant{special: "_"})
}

// checkRegister fails when a register is too narrow for a type or is a
// predicate. Wider registers are legal for loads, stores and conversions, and
// harmless elsewhere.
func (c *compiler) checkRegister(reg int, t ptx.Type) {
	r := c.entry.Regs[reg]
	switch {
	case (r.Type.Class == ptx.Pred) != (t.Class == ptx.Pred):
		c.fail("%s cannot hold a .%s", r.Name, t)
	case r.Type.Width() < t.Width():
		c.fail("register %s is narrower than .%s", r.Name, t)
	case r.Type.Width() > 64:
		c.fail("%s has 128 bits: mov, ld, st and atom on .b128 take it", r.Name)
	}
}

// width is the width in bits of the register that operand o names.
func (c *compiler) width(o ptx.Operand, t ptx.Type) int {
	if o.Kind == ptx.Register {
		return c.entry.Regs[o.Reg].Type.Width()
	}
	return t.Width()
}

// constantOperand turns an operand that is no register into a constant.
func (c *compiler) constantOperand(o ptx.Operand, t ptx.Type) (constant, bool) {
	switch o.Kind {
	case ptx.Immediate, ptx.Float32, ptx.Float64:
		return constant{value: c.immediate(o, t)}, true
	case ptx.Symbol:
		return c.address(o)
	case ptx.Special:
		return c.special(o.Name)
	}
	c.fail("%s cannot read this operand", c.in.Op)
	return constant{}, false
}

// immediate converts a literal to the bits of a type.
func (c *compiler) immediate(o ptx.Operand, t ptx.Type) uint64 {
	bits := o.Bits
	switch {
	case o.Kind == ptx.Float32 && t.Width() == 64:
		bits = math.Float64bits(float64(math.Float32frombits(uint32(bits))))
	case o.Kind == ptx.Float64 && t.Width() == 32:
		bits = uint64(math.Float32bits(float32(math.Float64frombits(bits))))
	case o.Kind == ptx.Immediate && t.IsFloat() && t.Bits >= 32 && bits != 0:
		c.fail("an integer literal cannot be a .%s", t)
	}
	return bits & widthMask(t.Width())
}

// address is a variable's address within its own state space.
func (c *compiler) address(o ptx.Operand) (constant, bool) {
	offset := uint64(o.Offset)
	if at, ok := c.params[o.Name]; ok {
		return constant{value: uint64(at) + offset}, true
	}
	if at, ok := c.local[o.Name]; ok {
		return constant{value: uint64(at) + offset, frame: !c.unit.kernel}, true
	}
	if at, ok := c.shared[o.Name]; ok {
		return constant{value: uint64(at) + offset, shared: true}, true
	}
	if at, ok := c.program.image[o.Name]; ok {
		return constant{value: uint64(at) + offset, image: true}, true
	}
	if f, ok := c.program.module.Function(o.Name); ok && f.Defined {
		return constant{value: functionOffset(f) + offset, code: true}, true
	}
	c.undefined(o.Name)
	return constant{}, false
}

func (c *compiler) special(name string) (constant, bool) {
	if staticSpecial(name) == nil {
		c.fail("special register %s is not implemented here", name)
		return constant{}, false
	}
	return constant{special: name}, true
}

// constant returns the virtual register of k, the same for equal constants.
func (c *compiler) constant(k constant) int32 {
	if len(c.consts) >= maxRegisters {
		c.fail("the kernel has too many constants")
	}
	slot, ok := c.consts[k]
	if !ok {
		slot = int32(len(c.entry.Regs) + len(c.consts))
		c.consts[k] = slot
	}
	return slot
}

// predicate returns the predicate index of a ptx register.
func (c *compiler) predicate(reg int) int32 {
	if t := c.entry.Regs[reg].Type; t.Class != ptx.Pred {
		c.fail("%s is not a predicate", c.entry.Regs[reg].Name)
	}
	p, ok := c.preds[reg]
	if !ok {
		p = int32(len(c.preds)) + c.unit.preds[0]
		c.preds[reg] = p
	}
	return p
}

// srcPred returns operand o as a predicate, and the mask that negates it or 0.
// Predicate 0 is always false, and so stands for literals.
func (c *compiler) srcPred(o ptx.Operand) (p int32, flip uint32) {
	if o.Kind == ptx.Immediate {
		return 0, boolMask(o.Bits != 0)
	}
	if o.Kind == ptx.Sink {
		c.fail("what %s reads must be a predicate, and not _", c.in.Op)
		return 0, 0
	}
	return c.dstPred(o), boolMask(o.Negate)
}

// dstPred returns operand o as a predicate to write.
func (c *compiler) dstPred(o ptx.Operand) int32 {
	if o.Kind == ptx.Sink {
		return -1
	}
	if o.Kind != ptx.Register || o.Minus || o.Part != "" {
		c.fail("%s needs a predicate here", c.in.Op)
		return -1
	}
	return c.predicate(o.Reg)
}

// dstPreds returns the destination predicates of operand 0: p, or p|q, with -1
// for a sink.
func (c *compiler) dstPreds() (p, q int32) {
	if o := c.arg(0); o.Kind != ptx.Pair {
		return c.dstPred(o), -1
	}
	pair := c.arg(0).Elems
	return c.dstPred(pair[0]), c.dstPred(pair[1])
}

// dstWithPred makes o write operand 0: a 32-bit register d, or d|p with a
// predicate.
func (c *compiler) dstWithPred(o *op) {
	d := c.arg(0)
	o.p = -1
	if d.Kind == ptx.Pair {
		o.p = c.dstPred(d.Elems[1])
		d = d.Elems[0]
	}
	c.dstOperand(&o.d, d, b32)
}

func widthMask(bits int) uint64 {
	if bits >= 64 {
		return math.MaxUint64
	}
	return 1<<bits - 1
}
