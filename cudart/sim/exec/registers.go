package exec

// form says how a register's value is kept. The zero shape is a value for each lane, in
// warp.regs.
type form uint8

const (
	isAffine   form = 1 << iota // the value is affine, in warp.affine values
	lanesStale                  // only there: the lanes in warp.regs are not up to date
	lanesOnly                   // never affine: multiplications write it when no op does
)

// registers is the file of a warp. What is stale in regs is in affine values.
type registers struct {
	regs    []lanes
	affines []affine
	forms   []form
}

// takeRegisters returns a file of zeroes.
func (k *Kernel) takeRegisters() registers {
	r, ok := k.spare.Get().(*registers)
	if !ok {
		r = &registers{regs: make([]lanes, k.regs), affines: make([]affine, k.regs), forms: make([]form, k.regs)}
	}
	clear(r.affines)
	for i := range r.forms {
		r.forms[i] = isAffine | lanesStale
	}
	for _, slot := range k.async {
		r.regs[slot], r.forms[slot] = lanes{}, lanesOnly
	}
	return *r
}

// giveRegisters takes back the files of a block that has exited.
func (b *block) giveRegisters() {
	for _, w := range b.warps {
		b.grid.kernel.spare.Put(&registers{w.regs, w.affines, w.forms})
		w.registers = registers{}
	}
}

// setAffine makes all lanes of a register those of affine.
func (w *warp) setAffine(slot int32, r affine) {
	if w.forms[slot]&lanesOnly != 0 {
		r.expandTo(&w.regs[slot])
		return
	}
	w.forms[slot], w.affines[slot] = isAffine|lanesStale, r
}

// dropAffine is called where the lanes of a register have been or will be written.
func (w *warp) dropAffine(slot int32) { w.forms[slot] &= lanesOnly }

// expandLanes brings the lanes of a register up to date.
func (w *warp) expandLanes(slot int32) {
	if w.forms[slot]&lanesStale != 0 {
		w.affines[slot].expandTo(&w.regs[slot])
		w.forms[slot] &^= lanesStale
	}
}

// expandOperands prepares the registers of an op for a function that knows lanes alone.
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

// computeAffine is compute for sources that are affine values. Any function of numbers that are the
// same in all lanes is one too.
func (w *warp) computeAffine(o *op) bool {
	a, b, c := w.affines[o.a], w.affines[o.b], w.affines[o.c]
	if o.affine != nil {
		if r, ok := o.affine(a, b, c); ok {
			w.setAffine(o.d, r)
			return true
		}
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
		if a&b&isAffine != 0 && o.affineCmp != nil {
			if m, ok := o.affineCmp(w.affines[o.a], w.affines[o.b]); ok {
				return m
			}
		}
		w.expandLanes(o.a)
		w.expandLanes(o.b)
	}
	return o.cmp(&w.regs[o.a], &w.regs[o.b])
}

// copyAffine makes one register the same as another if that is affine.
func (w *warp) copyAffine(to, from int32) bool {
	if w.forms[from]&isAffine == 0 {
		return false
	}
	w.setAffine(to, w.affines[from])
	return true
}
