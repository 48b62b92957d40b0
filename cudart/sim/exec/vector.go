package exec

import (
	"slices"
	"strings"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/simd"
)

// vectorize replaces the loops of an op by assembly that computes all lanes at once, where there is some. The
// assembly takes sources to be zero-extended from the type of the instruction; only conversions cut them off. It
// zero-extends results, too. Forms that pack and unpack are compiled by themselves, and minima of three inputs have
// no assembly.
func (c *compiler) vectorize(o *op) {
	three := len(c.in.Args) == 4 && (c.in.Op == "min" || c.in.Op == "max")
	packs := slices.ContainsFunc(c.in.Args, func(a ptx.Operand) bool { return a.Kind == ptx.Vector })
	if c.program.loops || packs || three || c.extended || c.wide && c.in.Op != "cvt" {
		return
	}
	name := strings.Join(append([]string{c.in.Op}, c.in.Mods...), ".")
	if f, ok := vectorALUs[name]; ok && o.kind == opALU {
		o.setVector(f)
	}
	if f, ok := vectorCompares[name]; ok && o.cmp != nil {
		o.setComparison(f)
	}
}

// setVector makes an op one that assembly executes.
func (o *op) setVector(f simd.Instruction) {
	o.alu = f.Call
	o.step = func(o *op) simd.Step { return f.Step(o.d, o.a, o.b, o.c).WithAffine(affineCodes[o.affine]) }
}

// setComparison makes an op one whose comparison assembly executes.
func (o *op) setComparison(f simd.Comparison) {
	o.cmp = f.Call
	if o.kind != opCompare {
		return
	}
	var holds simd.Relation
	for order, yes := range map[simd.Relation]bool{
		simd.Less: o.test.relation.lt, simd.Equal: o.test.relation.eq, simd.Greater: o.test.relation.gt,
	} {
		if yes {
			holds |= order
		}
	}
	affine := testCodes[affineTest{bits: o.test.bits, signed: o.test.signed}]
	o.step = func(o *op) simd.Step { return f.Step(o.p, o.a, o.b, holds).WithAffine(affine) }
}

// accessStep makes an access a step, if registers hold the elements as memory does, and a plain access of the host will
// do.
func (c *compiler) accessStep(o *op) {
	m := o.mem
	access, ok := accesses[accessShape{m.size, len(m.vector), m.writes}]
	if !ok || c.program.loops || c.program.observed || m.order.strong() || m.own || m.extendsSign() {
		return
	}
	o.step = func(o *op) simd.Step { return access.Step(o.a, m.bias, m.vector) }
}

// accessShape is what an access moves for each lane.
type accessShape struct {
	size   uint64 // of an element, in bytes
	n      int    // elements
	writes bool
}

// findRuns lists the steps of all ops, and tells each op where the run of such ops ends that it is in. Only ops
// without a guard are in a run.
func (k *Kernel) findRuns() {
	k.steps = make([]simd.Step, len(k.code))
	end := int32(len(k.code))
	for i := len(k.code) - 1; i >= 0; i-- {
		o := &k.code[i]
		if o.step == nil || o.guard >= 0 {
			end = int32(i)
			continue
		}
		k.steps[i], o.runEnd = o.step(o), end
	}
}

// The loops that the functions of vector_amd64.go and vector_other.go replace.

func chooseLoop(d, a, b *lanes, mask uint32) {
	for i := range d {
		pick := -uint64(mask >> i & 1)
		d[i] = a[i]&pick | b[i]&^pick
	}
}

func expandLoop(d *lanes, r affine) {
	v := r.base
	for i := range d {
		d[i] = v
		v += r.stride
	}
}
