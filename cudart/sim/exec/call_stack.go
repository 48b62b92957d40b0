package exec

import "encoding/binary"

// Limits of a thread's stack. CUDA's own limit, cudaLimitStackSize, is 1 KB at first, and holds for
// recursion alone, as this one: frames are larger here, because they have parameters which GPUs keep in
// registers.
const (
	maxStack      = 16 << 10
	minFrameAlign = 16
)

// callStack is where the lanes of a warp are in calls.
type callStack struct {
	frames [32][]frame
	saved  [32][]uint64 // registers of callers
	base   [32]uint64   // of the running function's frame, in local memory
	top    [32]uint64   // the end of the stack

	scratch []uint64 // arguments or results of a lane
}

// values is scratch for n values.
func (st *callStack) values(n int) []uint64 {
	if cap(st.scratch) < n {
		st.scratch = make([]uint64, n)
	}
	return st.scratch[:n]
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
		return w.fault(StackOverflow, lane, "the stack of a thread, %d bytes, is used up, %d calls deep", limit,
			len(w.calls.frames[lane]))
	}
	size := int(align(int64(2*end), minFrameAlign))
	local := zeroed(32 * size)
	for i := range 32 {
		copy(local[i*size:], w.local[i*w.localSize:(i+1)*w.localSize])
	}
	w.local, w.localSize = local, size
	return nil
}
