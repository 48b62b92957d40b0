package exec

import (
	"sync/atomic"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// Memory order. Weak accesses are plain copies. Volatile, relaxed, acquire and
// release accesses are sequentially consistent atomics on the memory itself,
// which is stronger than any of them asks for, and which other processes that
// map the memory see. What is one access of a vector is in mem_whole.go. With disorder
// stores come later (order_storebuffer.go), and weak loads see what was (order_history.go).

// cacheHints are modifiers that change performance and nothing else.
var cacheHints = []string{
	"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt",
	"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
	"L2::64B", "L2::128B", "L2::256B", "L2::evict_last", "L2::evict_normal", "L2::evict_first",
}

// order is the memory order of an access, with its scope.
type order struct{ name, scope string }

// strong reports whether the access must be atomic.
func (r order) strong() bool { return r.name != "" && r.name != "weak" }

// releases reports whether threads that see the access also see the earlier stores of this thread.
func (r order) releases() bool { return r.name == "release" || r.name == "acq_rel" || r.name == "sc" }

// acquires reports whether the thread also sees the stores that were released by what it sees.
func (r order) acquires() bool { return r.name == "acquire" || r.name == "acq_rel" || r.name == "sc" }

// takeOrder removes order, scope and cache modifiers.
func (c *compiler) takeOrder() order {
	for c.take(cacheHints...) != "" {
	}
	o := order{name: c.take("weak", "volatile", "relaxed", "acquire", "release", "mmio")}
	if o.name == "mmio" {
		c.take("relaxed") // .mmio.relaxed.sys
	}
	o.scope = c.take("cta", "cluster", "gpu", "sys")
	return o
}

// vectors are the numbers of elements.
var vectors = map[string]int{"": 1, "v2": 2, "v4": 4, "v8": 8}

// takeVector removes .v2 and so on, and returns the elements of operand i.
func (c *compiler) takeVector(i int) []ptx.Operand {
	n := vectors[c.take("v2", "v4", "v8")]
	elems := []ptx.Operand{c.arg(i)}
	if elems[0].Kind == ptx.Vector {
		elems = elems[0].Elems
	}
	if len(elems) != n {
		c.fail("%s has %d elements and %d registers", c.in.Op, n, len(elems))
	}
	return elems
}

// load compiles ld[.order][.scope][.space][.vec].type d, [a].
func (c *compiler) load(o *op) {
	fixed := c.has("nc")
	order := c.takeOrder()
	c.takePolicy()
	space := c.frameSpace(c.takeSpace(), c.arg(1))
	t, elems, whole := c.takeElementType(c.takeVector(0))
	c.args(2)
	if c.err != nil {
		return
	}
	if t.Class == ptx.Pred || t.Width() > 64 {
		c.fail("a .%s cannot be loaded", t)
		return
	}
	c.checkVector(len(elems), space, t)
	mem := c.memory(o, 1, space, t)
	mem.order, mem.fixed, mem.whole = order, fixed, whole
	mem.vector, mem.masks = make([]int32, len(elems)), make([]uint64, len(elems))
	for i, e := range elems {
		c.dstOperand(&mem.vector[i], e, t)
		mem.masks[i] = widthMask(c.width(e, t))
	}
	o.kind, o.run, o.takesAffine = opRun, loadWeak, true
	mem.piece, mem.move = pieceOf(mem), loadsOfPieces(mem)
	c.accessStep(o)
	if order.strong() && space != ptx.Param && space != ptx.Const {
		o.run = loadStrong
	}
}

// checkVector fails for vectors of more than 128 bits, except where newer GPUs
// have them.
func (c *compiler) checkVector(n int, space ptx.Space, t ptx.Type) {
	width, m := n*t.Width(), c.program.module
	wide := width == 256 && t.Width() >= 32 && space == ptx.Global && m.SM >= 100 && m.AtLeast(8, 8)
	if width > 128 && !wide || n == 8 && !wide {
		c.fail("a vector of %d .%s is not possible; 256 bits are, of .b32 or .b64 in global memory, "+
			"for target sm_100 and PTX 8.8", n, t)
	}
}

func loadWeak(w *warp, o *op, mask uint32) error {
	if mask == fullMask && w.seesMemory() {
		if w.loadUniform(o) {
			return nil
		}
		if _, ok := w.moveAll(o); ok {
			for _, slot := range o.mem.vector {
				w.dropAffine(slot)
			}
			return nil
		}
	}
	w.expandOperands(o)
	return w.loadLanes(o, mask)
}

// seesMemory reports whether weak loads are plain copies of what memory holds.
func (w *warp) seesMemory() bool {
	return w.stores == nil || w.stores.empty() && w.grid.gpuScope.count == 0 && !w.block.view.staleLoads
}

// loadUniform loads for all lanes from one address.
func (w *warp) loadUniform(o *op) bool {
	if w.forms[o.a]&isAffine == 0 || !w.affines[o.a].uniform() {
		return false
	}
	addr := w.affines[o.a].base + o.mem.bias
	s, ok := w.affineSpan(o, affine{base: addr})
	if !ok {
		return false
	}
	p, size := unsafe.Add(s.ptr, addr-s.base), w.pieceBytes(o.mem)
	for k := 0; k < len(o.mem.vector); {
		v := readPiece(unsafe.Add(p, uint64(k)*o.mem.size), size)
		for i := range int(size / o.mem.size) {
			w.setAffine(o.mem.vector[k], affine{base: o.mem.loaded(k, v.element(i, o.mem.size))})
			k++
		}
	}
	return true
}

// loaded is what register k holds after a load of v.
func (a *access) loaded(k int, v uint64) uint64 {
	if a.signed {
		shift := 64 - 8*a.size
		v = uint64(int64(v<<shift) >> shift)
	}
	return v & a.masks[k]
}

// loadStrong also remembers what it saw, because a warp that sees the same
// again and again is spinning.
func loadStrong(w *warp, o *op, mask uint32) error {
	watched := w.watches(o)
	if mask == fullMask && watched && w.pollAll(o) {
		return nil
	}
	w.expandOperands(o)
	if err := w.loadLanes(o, mask); err != nil {
		return err
	}
	w.watch.blind = w.watch.blind || !watched
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		for _, slot := range o.mem.vector {
			w.observe(w.regs[slot][lane])
		}
	}
	if o.mem.order.acquires() {
		w.block.view.acquire(o.mem.order.scope)
	}
	return nil
}

// watches reports whether what a strong load sees is kept, so that the warp can be parked. It is copied in
// the largest pieces there are. Where turns are random no warp is parked, so that the turns are the same on all hosts.
func (w *warp) watches(o *op) bool {
	return w.grid.turns == nil && hostOrdersAccesses && w.accessesWhole(o.mem)
}

// pollAll is loadStrong for all lanes, where their addresses are adjacent or the same.
func (w *warp) pollAll(o *op) bool {
	if w.forms[o.a]&isAffine == 0 {
		return false
	}
	r := w.affines[o.a].plus(affine{base: o.mem.bias})
	s, ok := w.affineSpan(o, r)
	n := int(o.mem.bytes())
	if !ok || r.stride != 0 && (r.stride != uint64(n) || o.mem.move.strided == nil) {
		return false
	}
	from := unsafe.Add(s.ptr, r.base-s.base)
	if r.stride != 0 {
		n *= 32
	}
	seen := w.watch.load(from, n)
	w.observeBytes(seen, n)
	if r.stride != 0 {
		o.mem.move.strided(w, o, seen, r.stride)
		for _, slot := range o.mem.vector {
			w.dropAffine(slot)
		}
		return true
	}
	for k, slot := range o.mem.vector {
		w.setAffine(slot, affine{base: o.mem.loaded(k, readPlain(unsafe.Add(seen, uint64(k)*o.mem.size), o.mem.size))})
	}
	return true
}

// observeUnwatched is observe for a value that no watched range holds.
func (w *warp) observeUnwatched(value uint64) {
	w.observe(value)
	w.watch.blind = true
}

// observe mixes a polled value into the digest of the running path.
func (w *warp) observe(value uint64) {
	w.current.poll = w.current.pc
	w.current.polled = (w.current.polled^value)*0x9e3779b97f4a7c15 | 1
	w.current.polls = true
}

// loadLanes loads lane by lane.
func (w *warp) loadLanes(o *op, mask uint32) error {
	addresses := w.regs[o.a] // a copy: a destination may be the address
	stale, piece := !o.mem.order.strong(), w.pieceBytes(o.mem)
	for m := mask; m != 0; m &= m - 1 {
		lane := lowest(m)
		p, err := w.pointer(o, addresses[lane], lane)
		if err != nil {
			return err
		}
		from := p
		if !stale && w.watches(o) {
			from = w.watch.load(p, int(o.mem.bytes()))
		}
		for k := 0; k < len(o.mem.vector); {
			skip := uint64(k) * o.mem.size
			v := w.visibleValue(readPiece(unsafe.Add(from, skip), piece), unsafe.Add(p, skip), piece, lane, stale, o.mem.fixed)
			for i := range int(piece / o.mem.size) {
				w.regs[o.mem.vector[k]][lane] = o.mem.loaded(k, v.element(i, o.mem.size))
				k++
			}
		}
		if !stale {
			w.block.view.observe(p) // behind the load
		}
	}
	return nil
}

func readPlain(p unsafe.Pointer, size uint64) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// readAtomic reads whole words atomically. Go has no atomics narrower than 32
// bits, but the hardware does not tear an aligned access.
func readAtomic(p unsafe.Pointer, size uint64) uint64 {
	switch size {
	case 4:
		return uint64(atomic.LoadUint32((*uint32)(p)))
	case 8:
		return atomic.LoadUint64((*uint64)(p))
	}
	return readPlain(p, size)
}
