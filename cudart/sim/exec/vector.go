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

// findRuns lists the steps of all ops, and tells each op where the run of such ops ends that it is in. Only ops
// without a guard are in a run.
func (k *Kernel) findRuns() {
	k.steps = make([]simd.Step, len(k.code))
	end := int32(len(k.code))
	for i := len(k.code) - 1; i >= 0; i-- {
		o := &k.code[i]
		step, ok := o.step()
		if !ok || o.guard >= 0 {
			end = int32(i)
			continue
		}
		k.steps[i], o.runEnd = step, end
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
