package exec

import (
	"slices"

	"gpurun/cudart/sim/ptx"
)

// multimem compiles the instructions on multicast addresses, PTX ISA 8.1,
// "Data Movement and Conversion Instructions: multimem":
//
//	multimem.ld_reduce[.order[.scope]][.global].op[.acc][.vec].type d, [a];
//	multimem.st[.order[.scope]][.global][.vec].type [a], b;
//	multimem.red[.order[.scope]][.global].op[.vec].type [a], b;
func (c *compiler) multimem(o *op) {
	m := multimem{what: c.take("ld_reduce", "st", "red")}
	order := c.multimemOrder(m.what)
	c.take("global")
	if m.what != "st" {
		m.op = c.take("add", "min", "max", "and", "or", "xor")
	}
	m.accumulator = c.take("acc::f32", "acc::f16")
	vector := c.take("v2", "v4", "v8")
	m.typ = c.takeAnyType()
	c.args(2)
	if c.err != nil {
		return
	}
	if why := m.refusal(vector, c.program.module); why != "" {
		c.fail("%s", why)
		return
	}
	address, value := 0, 1
	if m.what == "ld_reduce" {
		address, value = 1, 0
	}
	c.memory(o, address, ptx.Global, m.typ)
	c.multimemElements(o, vector, value, m)
	o.mem.order = order
	o.kind = opRun
	switch m.what {
	case "ld_reduce":
		r := reductionOf(m.op, m.typ, m.accumulator)
		o.run = func(w *warp, o *op, mask uint32) error { return w.loadReduce(o, mask, r, m.typ) }
	case "st":
		o.run = storeMulticast
	case "red":
		fn := modifyPacked(m.op, m.typ)
		o.run = func(w *warp, o *op, mask uint32) error { return w.reduceMulticast(o, mask, fn) }
	}
}

// multimem is one such instruction without its operands.
type multimem struct {
	what, op, accumulator string
	typ                   ptx.Type
}

// multimemOrder takes order and scope, which come together or not at all;
// without them ld_reduce and st are weak, and red is relaxed at system scope.
func (c *compiler) multimemOrder(what string) order {
	allowed := map[string][]string{
		"ld_reduce": {"weak", "relaxed", "acquire"}, "st": {"weak", "relaxed", "release"}, "red": {"relaxed", "release"},
	}[what]
	if allowed == nil {
		c.fail("multimem is ld_reduce, st or red")
	}
	r := order{name: c.take(allowed...), scope: c.take("cta", "cluster", "gpu", "sys")}
	if (r.name == "" || r.name == "weak") != (r.scope == "") {
		c.fail("a multimem order other than .weak needs a scope, and a scope needs an order")
	}
	if what == "red" && r.name == "" {
		return order{name: "relaxed", scope: "sys"}
	}
	return r
}

// refusal says why the combination of operation, type, vector and accumulator
// does not exist, or returns "".
func (m multimem) refusal(vector string, module *ptx.Module) string {
	t, width := m.typ, vectors[vector]*m.typ.Width()
	small := t.IsFloat8() || t.IsFloat() && t.Bits == 16
	switch {
	case !slices.Contains(multimemOps(m.what, t), m.op):
		if m.op == "" {
			return "multimem." + m.what + " does not take ." + t.String()
		}
		return "multimem." + m.what + "." + m.op + " does not take ." + t.String()
	case vector != "" && (!t.IsFloat() && !t.IsFloat8() || t.Bits == 64) || width != 32 && width != 64 && width != 128:
		return "multimem does not take ." + t.String() +
			" in vectors of this size; 32, 64 or 128 bits are possible, and .f64 and integers by themselves"
	case m.accumulator != "" && (m.what != "ld_reduce" || m.op != "add" || !small ||
		(m.accumulator == "acc::f16") != t.IsFloat8()):
		return "." + m.accumulator + " does not apply: .acc::f32 is for ld_reduce.add of 16-bit floats, " +
			".acc::f16 of 8-bit floats"
	case module.SM < 90 || !module.AtLeast(8, 1):
		return "multimem needs target sm_90 and PTX 8.1"
	case m.accumulator == "acc::f32" && !module.AtLeast(8, 2):
		return ".acc::f32 needs PTX 8.2"
	case t.IsFloat8() && (module.SM < 100 || module.Feature == "" || !module.AtLeast(8, 6)):
		return "multimem on 8-bit floats needs target sm_100a and PTX 8.6"
	}
	return ""
}

// multimemOps lists the operations on a type; "" is the only one of a store.
// The ISA has no sum of .s64, and no minimum of .f32 and .f64.
func multimemOps(what string, t ptx.Type) []string {
	word := t.Bits == 32 || t.Bits == 64
	switch {
	case what == "st" && (word || t.IsFloat() || t.IsFloat8()) && t.Class != ptx.Pred:
		return []string{""}
	case what == "st" || t.IsFloat8() && what == "red":
		return nil
	case t.IsFloat() && (word || what == "red"):
		return []string{"add"}
	case t.IsFloat() || t.IsFloat8():
		return []string{"add", "min", "max"}
	case t.Class == ptx.Bits && word:
		return []string{"and", "or", "xor"}
	case t == s64:
		return []string{"min", "max"}
	case (t.Class == ptx.Signed || t.Class == ptx.Unsigned) && word:
		return []string{"add", "min", "max"}
	}
	return nil
}

// multimemElements reads the registers of operand i.
func (c *compiler) multimemElements(o *op, vector string, i int, m multimem) {
	elems := []ptx.Operand{c.arg(i)}
	if elems[0].Kind == ptx.Vector {
		elems = elems[0].Elems
	}
	if want := vectors[vector]; len(elems) != want {
		c.fail("multimem has %d elements and %d registers", want, len(elems))
		return
	}
	o.mem.vector = make([]int32, len(elems))
	for k, e := range elems {
		if m.what == "ld_reduce" {
			c.dstOperand(&o.mem.vector[k], e, m.typ)
		} else {
			c.srcOperand(&o.mem.vector[k], e, m.typ)
		}
	}
}
