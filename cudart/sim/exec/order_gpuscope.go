package exec

import "unsafe"

// GPUScopeStores are stores that blocks of a device have released at .gpu scope and that have not
// reached memory. Other blocks of the device see them after an acquire. Other devices and copy
// engines see them only once they reach memory: at a random time, or when a block that made them or
// acquired them releases at .sys scope, or when the grid ends. The zero value is ready. The grids of one
// device share it; it belongs to the goroutine that runs them.
type GPUScopeStores struct{ pendingStores }

// maxReleased bounds their number.
const maxReleased = 4096

// releaseToGPU releases the block's stores that match at .gpu scope.
func (w *warp) releaseToGPU(match func(*pendingStore) bool) {
	now := w.grid.cfg.History.clock.Add(1)
	w.stores.drain(match, func(st *pendingStore) {
		st.releasedAt = now
		w.grid.gpuScope.add(*st)
	})
	if w.grid.gpuScope.count > maxReleased {
		w.grid.gpuScope.drain(func(*pendingStore) bool { return w.stores.random.IntN(2) == 0 }, w.grid.write)
	}
}

// releaseToSystem releases at .sys scope: the block's stores that match reach memory, and so do
// those released at .gpu scope that the block has made or acquired.
func (w *warp) releaseToSystem(match func(*pendingStore) bool) {
	v := w.block.view
	w.grid.gpuScope.drain(func(st *pendingStore) bool {
		return st.releasedAt <= v.acquiredAt || st.writer == v.id && match(st)
	}, w.grid.write)
	w.stores.drain(match, w.stores.write)
}

// drainGPUScope lets some of the stores at .gpu scope reach memory, and reports whether any did.
func (g *Grid) drainGPUScope() bool {
	const oneIn = 16
	r, before := g.cfg.Disorder, g.gpuScope.count
	if before == 0 || r.IntN(oneIn) > 0 {
		return false
	}
	g.gpuScope.drain(func(*pendingStore) bool { return r.IntN(2) == 0 }, g.write)
	return g.gpuScope.count < before
}

// flushAt lets all stores at .gpu scope to an address reach memory.
func (g *Grid) flushAt(p unsafe.Pointer, size uint64) { g.gpuScope.drainAt(p, size, g.write) }

// write performs a store in memory.
func (g *Grid) write(st *pendingStore) {
	g.recordChange(st.ptr, uint64(st.size), st.writer, st.releasedAt)
	writePiece(st.ptr, uint64(st.size), st.value)
}

// visibleValue is what a lane loads from p, where memory holds value. stale: the load is weak, and may
// see an old value. fixed: it is by .nc.
func (w *warp) visibleValue(value word, p unsafe.Pointer, size uint64, lane int, stale, fixed bool) word {
	v := w.block.view
	if v == nil {
		return value
	}
	if stale && v.staleLoads {
		value = v.staleValue(w.grid, value, p, size, fixed)
	}
	return w.forward(value, p, size, lane, v.acquiredAt)
}

// forward is store-to-load forwarding: it overlays value, which memory holds at p, with the stores that
// the lane sees at .gpu scope, given that it acquired last at since, and in its block's buffer.
func (w *warp) forward(value word, p unsafe.Pointer, size uint64, lane int, since uint64) word {
	if d := w.grid.gpuScope; d.count > 0 {
		self := w.block.view.id
		value = d.forward(value, p, size, func(st *pendingStore) bool { return st.releasedAt <= since || st.writer == self })
	}
	return w.stores.forwardToThread(value, p, size, w.thread(lane))
}
