package exec

import "unsafe"

// GPUScopeStores are stores that blocks of a device have released to the GPU and to nobody
// else. Its other blocks see them once they have acquired what tells of them, and the devices
// around it do not, nor do its copy engines, until they reach memory: at some time, or when
// somebody releases them to the system who has made them, or has acquired what tells of them;
// at the latest when a grid ends. The zero value is ready. Grids of one device share it, and
// its goroutine.
type GPUScopeStores struct{ pendingStores }

// maxReleased bounds them.
const maxReleased = 4096

// releaseToGPU shows the device the stores of the block that match.
func (w *warp) releaseToGPU(match func(*pendingStore) bool) {
	moment := w.grid.cfg.History.clock.Add(1)
	w.stores.drain(match, func(st *pendingStore) {
		st.releasedAt = moment
		w.grid.gpuScope.add(*st)
	})
	if w.grid.gpuScope.count > maxReleased {
		w.grid.gpuScope.drain(func(*pendingStore) bool { return w.stores.random.IntN(2) == 0 }, w.grid.write)
	}
}

// releaseToSystem lets the stores of the block that match reach memory, and those that were
// released to the device and that the block has made or come to see.
func (w *warp) releaseToSystem(match func(*pendingStore) bool) {
	v := w.block.view
	w.grid.gpuScope.drain(func(st *pendingStore) bool {
		return st.releasedAt <= v.acquiredAt || st.writer == v.id && match(st)
	}, w.grid.write)
	w.stores.drain(match, w.stores.write)
}

// drainGPUScope lets some of the device's stores reach memory, and reports whether any did.
func (g *Grid) drainGPUScope() bool {
	const oneIn = 16
	r, before := g.cfg.Disorder, g.gpuScope.count
	if before == 0 || r.IntN(oneIn) > 0 {
		return false
	}
	g.gpuScope.drain(func(*pendingStore) bool { return r.IntN(2) == 0 }, g.write)
	return g.gpuScope.count < before
}

// flushAt lets all of the device's stores to an address reach memory.
func (g *Grid) flushAt(p unsafe.Pointer, size uint64) { g.gpuScope.drainAt(p, size, g.write) }

// write lets a store reach memory.
func (g *Grid) write(st *pendingStore) {
	g.recordChange(st.ptr, uint64(st.size), st.writer, st.releasedAt)
	writeAtomic(st.ptr, uint64(st.size), st.value)
}

// visibleValue is what a lane loads from p, where memory holds value. Stale loads may see the past,
// and fixed ones are by .nc.
func (w *warp) visibleValue(value uint64, p unsafe.Pointer, size uint64, lane int, stale, fixed bool) uint64 {
	v := w.block.view
	if v == nil {
		return value
	}
	if stale && v.staleLoads {
		value = v.staleValue(w.grid, value, p, size, fixed)
	}
	return w.forward(value, p, size, lane, v.acquiredAt)
}

// forward lays over value, which is at p, what its device sees since a moment, and what the
// lane sees of its block's stores.
func (w *warp) forward(value uint64, p unsafe.Pointer, size uint64, lane int, since uint64) uint64 {
	if d := w.grid.gpuScope; d.count > 0 {
		self := w.block.view.id
		value = d.forward(value, p, size, func(st *pendingStore) bool { return st.releasedAt <= since || st.writer == self })
	}
	return w.stores.forwardToThread(value, p, size, w.thread(lane))
}
