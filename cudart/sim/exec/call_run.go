package exec

import "encoding/binary"

// Limits of a thread's stack. CUDA's own limit, cudaLimitStackSize, is 1 KB at first, and holds for
// recursion alone, as this one: frames are larger here, because they have parameters which GPUs keep in
// registers.
const (
	maxStack   = 16 << 10
	frameAlign = 16
)

// callStack is where the lanes of a warp are in calls.
type callStack struct {
	frames [32][]frame
	saved  [32][]uint64 // registers of callers
	base   [32]uint64   // of the running function's frame, in local memory
	top    [32]uint64   // the end of the stack
}

// frame is a call of a lane that has not returned.
type frame struct {
	call      int32 // the op
	site      *callSite
	callee    *callee
	base, top uint64 // the caller's
}

// stack is the warp's call stack.
func (w *warp) stack() *callStack {
	if w.calls == nil {
		w.calls = &callStack{}
		for lane := range w.calls.top {
			w.calls.top[lane] = uint64(w.grid.kernel.frame)
		}
	}
	return w.calls
}

// call begins the call of the lanes in mask, which may be calls of different functions.
func (s *callSite) call(w *warp, o *op, mask uint32) (verdict, error) {
	for rest := mask; rest != 0; {
		to, group := s.last, rest
		if s.indirect {
			lane := lowest(rest)
			addr := w.regs[o.a][lane]
			if to = s.targets[addr]; to == nil {
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
	values := make([]uint64, len(s.args))
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		f := frame{call: w.current.pc, site: s, callee: to, base: st.base[lane], top: st.top[lane]}
		base := (f.top + frameAlign - 1) / frameAlign * frameAlign
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
			if other := st.frames[lowest(m)]; other[len(other)-1].call == f.call {
				group |= 1 << lowest(m)
			}
		}
		f.site.leave(w, st, group)
		p := w.current
		p.pc, p.mask, p.depth = f.call+1, group, p.depth-1
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
	values := make([]uint64, len(s.results))
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

// ownLanes prepares registers, from the first up to the second, for writes of single lanes. The first may
// be -1, for none.
func (w *warp) ownLanes(slots [2]int32) {
	for slot := slots[0]; slot >= 0 && slot < slots[1]; slot++ {
		w.expandLanes(slot)
		w.dropAffine(slot)
	}
}

// save puts the caller's registers and predicates aside, if the call may overwrite them.
func (s *callSite) save(w *warp, st *callStack, lane int) {
	if !s.saved {
		return
	}
	to := st.saved[lane]
	for slot := s.slots[0]; slot < s.slots[1]; slot++ {
		to = append(to, w.regs[slot][lane])
	}
	for p := s.preds[0]; p < s.preds[1]; p++ {
		to = append(to, uint64(w.preds[p]>>lane&1))
	}
	st.saved[lane] = to
}

func (s *callSite) restore(w *warp, st *callStack, lane int) {
	if !s.saved {
		return
	}
	registers := int(s.slots[1] - s.slots[0])
	n := len(st.saved[lane]) - registers - int(s.preds[1]-s.preds[0])
	from := st.saved[lane][n:]
	for i := range registers {
		w.regs[int(s.slots[0])+i][lane] = from[i]
	}
	for i, bit := range from[registers:] {
		p := &w.preds[int(s.preds[0])+i]
		*p = *p&^(1<<lane) | uint32(bit)<<lane
	}
	st.saved[lane] = st.saved[lane][:n]
}

// placed is the value of a place, of 8 bytes at most; larger ones are copied instead.
func (w *warp) placed(p *place, base uint64, lane int) uint64 {
	if p.slot >= 0 {
		return w.regs[p.slot][lane]
	}
	var word [8]byte
	copy(word[:], w.frameBytes(p, base, lane))
	return binary.LittleEndian.Uint64(word[:])
}

// place sets the value of a place.
func (w *warp) place(p *place, base uint64, lane int, v uint64) {
	if p.slot >= 0 {
		w.regs[p.slot][lane] = v & widthMask(int(8*p.bytes))
		return
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v)
	copy(w.frameBytes(p, base, lane), word[:])
}

func (w *warp) frameBytes(p *place, base uint64, lane int) []byte {
	at := uint64(lane*w.localSize) + base + uint64(p.at)
	return w.local[at : at+uint64(p.bytes)]
}

// grow makes local memory reach to end. Where all calls are known in advance, it does from the start.
func (w *warp) grow(end uint64, lane int) error {
	if end <= uint64(w.localSize) {
		return nil
	}
	if limit := uint64(w.grid.kernel.local + maxStack); end > limit {
		return w.fault(StackOverflow, lane, "the stack of a thread, %d bytes, is used up in a recursion of %d calls", limit, len(w.calls.frames[lane]))
	}
	size := int(align(int64(2*end), frameAlign))
	local := zeroed(32 * size)
	for i := range 32 {
		copy(local[i*size:], w.local[i*w.localSize:(i+1)*w.localSize])
	}
	w.local, w.localSize = local, size
	return nil
}
