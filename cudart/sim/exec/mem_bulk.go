package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// storeBulk compiles st.bulk{.weak}{.shared::cta} [a], size, 0, which stores zeros.
func (c *compiler) storeBulk(o *op) {
	c.needs(100, 8, 6)
	c.take("weak")
	space := c.takeSpace()
	c.args(3)
	if value := c.arg(2); space != ptx.Shared && space != ptx.Generic || value.Kind != ptx.Immediate || value.Bits != 0 {
		c.fail("st.bulk stores 0 in .shared::cta")
	}
	c.memory(o, 0, space, b64)
	c.src(&o.b, 1, b64)
	o.mem.writes = true
	o.kind = opRun
	o.run = func(w *warp, o *op, mask uint32) error {
		w.progresses()
		for ; mask != 0; mask &= mask - 1 {
			if err := w.clearShared(o, lowest(mask)); err != nil {
				return err
			}
		}
		return nil
	}
}

// clearShared is st.bulk of one lane.
func (w *warp) clearShared(o *op, lane int) error {
	const unit = 8
	addr, size := w.regs[o.a][lane]+o.mem.bias, w.regs[o.b][lane]
	if size%unit != 0 {
		return w.fault(IllegalInstruction, lane, "%d bytes cannot be stored in bulk; multiples of 8 can", size)
	}
	if !w.owns(addr) {
		return w.notOwnShared(addr, lane)
	}
	p, err := w.rangeAt(addr, size, unit, lane)
	if err != nil {
		return err
	}
	for at := uint64(0); at < size; at += unit {
		w.block.generic.note(w, addr+at)
		if w.recordsOverwrites(addr + at) {
			w.recordOverwrite(unsafe.Add(p, at), unit, lane)
		}
		writePlain(unsafe.Add(p, at), unit, 0)
	}
	return nil
}

// observeBulkStore makes st.bulk tell what it has written, lane by lane.
func observeBulkStore(o *op) {
	store := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		if err := store(w, o, mask); err != nil {
			return err
		}
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			a := ObservedAccess{Kind: Writes, Bytes: 8, Elements: int(w.regs[o.b][lane] / 8), Lanes: 1 << lane}
			a.Addresses[lane] = w.regs[o.a][lane] + o.mem.bias
			if a.Elements > 0 {
				w.grid.cfg.Observer.Access(w.site(), &a)
			}
		}
		return nil
	}
}
