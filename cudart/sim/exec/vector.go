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
		o.cmp = f
	}
}

// setVector makes an op one that assembly executes.
func (o *op) setVector(f simd.Instruction) {
	o.alu, o.vector = f.Call, &f
}

// runOperands are the registers of an op in a run. They stand by themselves, because ops are large.
type runOperands struct{ d, a, b, c int32 }

// findRuns lists the steps of all ops, and tells each op where the run of such ops ends that it is in. Only ops
// without a guard are in a run.
func (k *Kernel) findRuns() {
	k.steps, k.operands = make([]simd.Step, len(k.code)), make([]runOperands, len(k.code))
	end := int32(len(k.code))
	for i := len(k.code) - 1; i >= 0; i-- {
		o := &k.code[i]
		if o.kind != opALU || o.vector == nil || o.guard >= 0 {
			end = int32(i)
			continue
		}
		k.steps[i], k.operands[i] = o.vector.Step(o.d, o.a, o.b, o.c), runOperands{o.d, o.a, o.b, o.c}
		o.runEnd = end
	}
}

// executeRun executes ops of a run from the running path's program counter on, for all lanes, as long as they are
// before limit and their sources are neither all affine nor to be expanded. It returns how many.
func (w *warp) executeRun(limit int32) int {
	first, forms := w.current.pc, w.forms
	n := 0
	for _, o := range w.grid.kernel.operands[first:limit] {
		a, b, c := forms[o.a], forms[o.b], forms[o.c]
		if a&b&c&isAffine != 0 || (a|b|c)&lanesStale != 0 {
			break
		}
		forms[o.d] &= lanesOnly
		n++
	}
	if n > 0 {
		runSteps(w, first, n)
	}
	return n
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
