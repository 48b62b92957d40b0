package exec

// shape says how a register's value is kept. The zero shape is a value for each lane, in
// warp.regs.
type shape uint8

const (
	even  shape = 1 << iota // the value is a ramp, in warp.ramps
	stale                   // only there: the lanes in warp.regs are not up to date
	plain                   // never a ramp: multiplications write it when no op does
)

// registers is the file of a warp. What is stale in regs is in ramps.
type registers struct {
	regs   []lanes
	ramps  []ramp
	shapes []shape
}

// takeRegisters returns a file of zeroes.
func (k *Kernel) takeRegisters() registers {
	r, ok := k.spare.Get().(*registers)
	if !ok {
		r = &registers{regs: make([]lanes, k.regs), ramps: make([]ramp, k.regs), shapes: make([]shape, k.regs)}
	}
	clear(r.ramps)
	for i := range r.shapes {
		r.shapes[i] = even | stale
	}
	for _, slot := range k.async {
		r.regs[slot], r.shapes[slot] = lanes{}, plain
	}
	return *r
}

// giveRegisters takes back the files of a block that has exited.
func (b *block) giveRegisters() {
	for _, w := range b.warps {
		b.grid.kernel.spare.Put(&registers{w.regs, w.ramps, w.shapes})
		w.registers = registers{}
	}
}

// setRamp makes all lanes of a register those of a ramp.
func (w *warp) setRamp(slot int32, r ramp) {
	if w.shapes[slot]&plain != 0 {
		r.spread(&w.regs[slot])
		return
	}
	w.shapes[slot], w.ramps[slot] = even|stale, r
}

// forget is called where the lanes of a register have been or will be written.
func (w *warp) forget(slot int32) { w.shapes[slot] &= plain }

// refresh brings the lanes of a register up to date.
func (w *warp) refresh(slot int32) {
	if w.shapes[slot]&stale != 0 {
		w.ramps[slot].spread(&w.regs[slot])
		w.shapes[slot] &^= stale
	}
}

// settleRegisters prepares the registers of an op for a function that knows lanes alone.
func (w *warp) settleRegisters(o *op) {
	for _, slot := range o.names {
		w.refresh(slot)
	}
	for _, slot := range o.names[o.reads:] {
		w.forget(slot)
	}
}

// compute executes an alu for all lanes.
func (w *warp) compute(o *op) {
	s := w.shapes
	a, b, c := s[o.a], s[o.b], s[o.c]
	if a&b&c&even != 0 && w.computeRamp(o) {
		return
	}
	if (a|b|c)&stale != 0 {
		w.refresh(o.a)
		w.refresh(o.b)
		w.refresh(o.c)
	}
	o.alu(&w.regs[o.d], &w.regs[o.a], &w.regs[o.b], &w.regs[o.c])
	s[o.d] &= plain
}

// computeRamp is compute for sources that are ramps. Any function of numbers that are the
// same in all lanes is one too.
func (w *warp) computeRamp(o *op) bool {
	a, b, c := w.ramps[o.a], w.ramps[o.b], w.ramps[o.c]
	if o.ramp != nil {
		if r, ok := o.ramp(a, b, c); ok {
			w.setRamp(o.d, r)
			return true
		}
	}
	if a.step|b.step|c.step != 0 {
		return false
	}
	w.refresh(o.a)
	w.refresh(o.b)
	w.refresh(o.c)
	out := &w.scratch
	o.alu(out, &w.regs[o.a], &w.regs[o.b], &w.regs[o.c])
	w.setRamp(o.d, ramp{base: out[0]})
	return true
}

// compare executes a comparison of all lanes, whatever the mask.
func (w *warp) compare(o *op) uint32 {
	if a, b := w.shapes[o.a], w.shapes[o.b]; (a | b) != 0 {
		if a&b&even != 0 && o.cmpRamps != nil {
			if m, ok := o.cmpRamps(w.ramps[o.a], w.ramps[o.b]); ok {
				return m
			}
		}
		w.refresh(o.a)
		w.refresh(o.b)
	}
	return o.cmp(&w.regs[o.a], &w.regs[o.b])
}

// copyRamp makes one register the same as another if that is a ramp.
func (w *warp) copyRamp(to, from int32) bool {
	if w.shapes[from]&even == 0 {
		return false
	}
	w.setRamp(to, w.ramps[from])
	return true
}
