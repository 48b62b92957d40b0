package exec

import "gpurun/cudart/sim/simd"

// form says where a register's value is kept. The zero form is one value per lane, in registers.regs.
type form = simd.Form

const (
	isAffine   = simd.FormAffine // the value is affine, in registers.affines
	lanesStale = simd.FormStale  // only there: the lanes in registers.regs are not up to date
	lanesOnly  = simd.FormLanes  // never affine: asynchronous multiplications write the lanes between ops
)

// registers is the register file of a warp. A register that is stale in regs is in affines.
type registers struct {
	regs    []lanes
	affines []affine
	forms   []form
}

// warpMemory is what a warp leaves to another one of its kernel: registers and lists of what it polled.
type warpMemory struct {
	registers
	watch watch
}

// takeMemory returns a register file of zeros, and empty lists.
func (k *Kernel) takeMemory() warpMemory {
	r, ok := k.spare.Get().(*warpMemory)
	if !ok {
		r = &warpMemory{
			registers: registers{regs: make([]lanes, k.regs), affines: make([]affine, k.regs), forms: make([]form, k.regs)},
		}
	}
	clear(r.affines)
	for i := range r.forms {
		r.forms[i] = isAffine | lanesStale
	}
	for _, slot := range k.async {
		r.regs[slot], r.forms[slot] = lanes{}, lanesOnly
	}
	r.regs[0], r.forms[0] = lanes{}, isAffine // an operand that an op does not have
	r.watch = watch{polled: r.watch.polled.emptied(), previous: r.watch.previous.emptied()}
	return *r
}

// giveMemory keeps the memory of the warps of a block that has exited for others.
func (b *block) giveMemory() {
	for _, w := range b.warps {
		memory := w.warpMemory
		b.grid.kernel.spare.Put(&memory)
		w.warpMemory = warpMemory{}
	}
}

// setAffine sets all lanes of a register to an affine value.
func (w *warp) setAffine(slot int32, r affine) {
	if w.forms[slot]&lanesOnly != 0 {
		r.expandTo(&w.regs[slot])
		return
	}
	w.forms[slot], w.affines[slot] = isAffine|lanesStale, r
}

// dropAffine makes a register one value per lane, because its lanes have been or will be written.
func (w *warp) dropAffine(slot int32) { w.forms[slot] &= lanesOnly }

// expandLanes brings the lanes of a register up to date.
func (w *warp) expandLanes(slot int32) {
	if w.forms[slot]&lanesStale != 0 {
		w.affines[slot].expandTo(&w.regs[slot])
		w.forms[slot] &^= lanesStale
	}
}

// expandOperands prepares the registers of an op for a function that reads and writes lanes.
func (w *warp) expandOperands(o *op) {
	for _, slot := range o.names {
		w.expandLanes(slot)
	}
	for _, slot := range o.names[o.reads:] {
		w.dropAffine(slot)
	}
}

// compute executes an alu for all lanes.
func (w *warp) compute(o *op) {
	s := w.forms
	a, b, c := s[o.a], s[o.b], s[o.c]
	if a&b&c&isAffine != 0 && w.computeAffine(o) {
		return
	}
	if (a|b|c)&lanesStale != 0 {
		w.expandLanes(o.a)
		w.expandLanes(o.b)
		w.expandLanes(o.c)
	}
	o.alu(&w.regs[o.d], &w.regs[o.a], &w.regs[o.b], &w.regs[o.c])
	s[o.d] &= lanesOnly
}

// computeAffine is compute for affine sources, if the result is affine. Where the sources are
// uniform, the same in all lanes, so is the result of any function.
func (w *warp) computeAffine(o *op) bool {
	a, b, c := w.affines[o.a], w.affines[o.b], w.affines[o.c]
	if r, ok := o.affine.of(a, b, c); ok {
		w.setAffine(o.d, r)
		return true
	}
	if a.stride|b.stride|c.stride != 0 {
		return false
	}
	w.expandLanes(o.a)
	w.expandLanes(o.b)
	w.expandLanes(o.c)
	out := &w.scratch
	o.alu(out, &w.regs[o.a], &w.regs[o.b], &w.regs[o.c])
	w.setAffine(o.d, affine{base: out[0]})
	return true
}

// compare executes a comparison of all lanes, whatever the mask.
func (w *warp) compare(o *op) uint32 {
	if a, b := w.forms[o.a], w.forms[o.b]; (a | b) != 0 {
		if a&b&isAffine != 0 && o.test.bits != 0 {
			if m, ok := o.test.of(w.affines[o.a], w.affines[o.b]); ok {
				return m
			}
		}
		w.expandLanes(o.a)
		w.expandLanes(o.b)
	}
	return o.cmp(&w.regs[o.a], &w.regs[o.b])
}

// copyAffine copies a register to another if it is affine.
func (w *warp) copyAffine(to, from int32) bool {
	if w.forms[from]&isAffine == 0 {
		return false
	}
	w.setAffine(to, w.affines[from])
	return true
}
