package exec

import "slices"

// observeMbarrier makes an instruction that changes mbarriers tell of them, lane by lane, because an arrival may
// end a phase.
func (c *compiler) observeMbarrier(o *op) {
	do := MbarrierCounts
	switch has := func(mod string) bool { return slices.Contains(c.in.Mods, mod) }; {
	case has("init"):
		do = MbarrierBegins
	case has("inval"):
		do = MbarrierEnds
	case (has("arrive") || has("arrive_drop")) && !has("relaxed"):
		do = MbarrierArrives
	}
	change := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		if w.endsBeforeMbarrier(o, mask, Updates) {
			return errBeforeSync
		}
		var last ObservedBarrier
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			b, err := w.observedBarrier(o, lane)
			if err != nil {
				return err
			}
			if b != last {
				at := w.site()
				at.Lanes = 1 << lane
				w.grid.cfg.Observer.Mbarrier(at, b, do)
			}
			last = b
			if err := change(w, o, 1<<lane); err != nil {
				return err
			}
		}
		return nil
	}
}

// endsBeforeMbarrier is endsBefore for an access to mbarriers.
func (w *warp) endsBeforeMbarrier(o *op, mask uint32, kind AccessKind) bool {
	return w.endsBefore(&ObservedAccess{Kind: kind, Addresses: w.regs[o.a]}, mask)
}

// observedBarrier is the mbarrier that a lane names.
func (w *warp) observedBarrier(o *op, lane int) (ObservedBarrier, error) {
	p, err := w.pointer(o, w.regs[o.a][lane], lane)
	if err != nil {
		return ObservedBarrier{}, err
	}
	addr := w.regs[o.a][lane] + o.mem.bias
	return ObservedBarrier{w.blockOf(addr), addr, readMbarrier(p).phase}, nil
}

// observeTest makes test_wait and try_wait tell whether a phase is over.
func (c *compiler) observeTest(o *op) {
	passes := MbarrierPasses
	if slices.Contains(c.in.Mods, "relaxed") {
		passes = MbarrierPassesBy
	}
	test := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		if w.endsBeforeMbarrier(o, mask, Reads) {
			return errBeforeSync
		}
		type result struct {
			ObservedBarrier
			do MbarrierAction
		}
		var told []result
		for m := mask; m != 0; m &= m - 1 {
			lane := lowest(m)
			b, err := w.observedBarrier(o, lane)
			if err != nil {
				return err
			}
			r := result{b, MbarrierTests}
			if b.Phase != w.regs[o.b][lane]&1 {
				r.do = passes
			}
			if !slices.Contains(told, r) {
				told = append(told, r)
			}
		}
		if err := test(w, o, mask); err != nil {
			return err
		}
		at := w.site()
		at.Lanes = mask
		for _, r := range told {
			w.grid.cfg.Observer.Mbarrier(at, r.ObservedBarrier, r.do)
		}
		return nil
	}
}
