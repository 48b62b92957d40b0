package exec

// call begins the call of the lanes in mask, which may be calls of different functions.
func (s *callSite) call(w *warp, o *op, mask uint32) (verdict, error) {
	for rest := mask; rest != 0; {
		to, group := s.last, rest
		if s.indirect {
			lane := lowest(rest)
			addr := w.regs[o.a][lane]
			if to = s.targets[addr-w.grid.cfg.Functions]; to == nil {
				return suspended, w.fault(IllegalInstruction, lane, "no function that this call may find is at address %#x", addr)
			}
			for m := rest; m != 0; m &= m - 1 {
				if w.regs[o.a][lowest(m)] != addr {
					group &^= 1 << lowest(m)
				}
			}
		}
		if err := s.enter(w, to, group); err != nil {
			return suspended, err
		}
		p := w.current
		p.pc, p.mask, p.depth = to.entry, group, p.depth+1
		w.pushPath(p)
		rest &^= group
	}
	return suspended, nil
}

// enter makes frames for lanes that call a function, and passes the arguments.
func (s *callSite) enter(w *warp, to *callee, mask uint32) error {
	st := w.stack()
	w.ownLanes(s.slots)
	for _, p := range to.params {
		w.ownLanes([2]int32{p.slot, p.slot + 1})
	}
	values := st.values(len(s.args))
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		f := frame{call: w.current.pc, site: s, callee: to, base: st.base[lane], top: st.top[lane]}
		base := uint64(align(int64(f.top), w.grid.kernel.frameAlign))
		if err := w.grow(base+uint64(to.frame), lane); err != nil {
			return err
		}
		for i := range s.args {
			values[i] = w.placed(&s.args[i], f.base, lane)
		}
		s.save(w, st, lane)
		for i := range to.params {
			from, p := &s.args[i], &to.params[i]
			if from.slot < 0 && p.slot < 0 {
				copy(w.frameBytes(p, base, lane), w.frameBytes(from, f.base, lane))
			} else {
				w.place(p, base, lane, values[i])
			}
		}
		st.frames[lane] = append(st.frames[lane], f)
		st.base[lane], st.top[lane] = base, base+uint64(to.frame)
	}
	w.setFrame(to, mask)
	return nil
}

// setFrame sets the registers that hold addresses in the frame of a function that lanes run.
func (w *warp) setFrame(to *callee, mask uint32) {
	base := &w.calls.base
	uniform := mask == fullMask
	for lane := range base {
		uniform = uniform && base[lane] == base[0]
	}
	for _, r := range to.frames {
		if uniform {
			w.setAffine(r.slot, affine{base: base[0] + r.offset})
			continue
		}
		w.ownLanes([2]int32{r.slot, r.slot + 1})
		for m := mask; m != 0; m &= m - 1 {
			w.regs[r.slot][lowest(m)] = base[lowest(m)] + r.offset
		}
	}
}

// returnLanes ends the calls of lanes, which may go back to different places.
func returnLanes(w *warp, _ *op, mask uint32) (verdict, error) {
	st := w.stack()
	for mask != 0 {
		frames := st.frames[lowest(mask)]
		f := frames[len(frames)-1]
		group := uint32(0)
		for m := mask; m != 0; m &= m - 1 {
			if other := st.frames[lowest(m)]; len(other) == len(frames) && other[len(other)-1].call == f.call {
				group |= 1 << lowest(m)
			}
		}
		f.site.leave(w, st, group)
		p := w.current
		p.pc, p.mask, p.depth = f.call+1, group, int32(len(frames)-1)
		w.pushPath(p)
		mask &^= group
	}
	return suspended, nil
}

// leave passes the results of lanes, and gives the caller back what the call has overwritten.
func (s *callSite) leave(w *warp, st *callStack, mask uint32) {
	w.ownLanes(s.slots)
	for _, p := range s.results {
		w.ownLanes([2]int32{p.slot, p.slot + 1})
	}
	values := st.values(len(s.results))
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		last := len(st.frames[lane]) - 1
		f, base := st.frames[lane][last], st.base[lane]
		st.frames[lane] = st.frames[lane][:last]
		for i := range values {
			values[i] = w.placed(&f.callee.results[i], base, lane)
		}
		s.restore(w, st, lane)
		for i := range s.results {
			to, from := &s.results[i], &f.callee.results[i]
			if from.slot < 0 && to.slot < 0 {
				copy(w.frameBytes(to, f.base, lane), w.frameBytes(from, base, lane))
			} else {
				w.place(to, f.base, lane, values[i])
			}
		}
		st.base[lane], st.top[lane] = f.base, f.top
	}
}
