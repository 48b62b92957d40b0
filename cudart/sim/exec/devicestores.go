package exec

import "unsafe"

// DeviceStores are stores that blocks of a device have released to the GPU and to nobody
// else. Its other blocks see them once they have acquired what tells of them, and the devices
// around it do not, nor do its copy engines, until they reach memory: at some time, or when
// somebody releases them to the system who has made them, or has acquired what tells of them;
// at the latest when a grid ends. The zero value is ready. Grids of one device share it, and
// its goroutine.
type DeviceStores struct{ pendingStores }

// mostReleased bounds them.
const mostReleased = 4096

// releaseToDevice shows the device the stores of the block that match.
func (w *warp) releaseToDevice(match func(*pendingStore) bool) {
	moment := w.grid.cfg.History.moment.Add(1)
	w.stores.drain(match, func(st *pendingStore) {
		st.moment = moment
		w.grid.device.add(*st)
	})
	if w.grid.device.count > mostReleased {
		w.grid.device.drain(func(*pendingStore) bool { return w.stores.random.IntN(2) == 0 }, w.grid.write)
	}
}

// releaseToAll lets the stores of the block that match reach memory, and those that were
// released to the device and that the block has made or come to see.
func (w *warp) releaseToAll(match func(*pendingStore) bool) {
	v := w.block.view
	w.grid.device.drain(func(st *pendingStore) bool {
		return st.moment <= v.since || st.writer == v.self && match(st)
	}, w.grid.write)
	w.stores.drain(match, w.stores.write)
}

// drainDevice lets some of the device's stores reach memory, and reports whether any did.
func (g *Grid) drainDevice() bool {
	const oneIn = 16
	r, before := g.cfg.Disorder, g.device.count
	if before == 0 || r.IntN(oneIn) > 0 {
		return false
	}
	g.device.drain(func(*pendingStore) bool { return r.IntN(2) == 0 }, g.write)
	return g.device.count < before
}

// settle lets all of the device's stores to an address reach memory.
func (g *Grid) settle(p unsafe.Pointer, size uint64) { g.device.drainAt(p, size, g.write) }

// write lets a store reach memory.
func (g *Grid) write(st *pendingStore) {
	g.noteChange(st.ptr, uint64(st.size), st.writer, st.moment)
	writeAtomic(st.ptr, uint64(st.size), st.value)
}

// seen is what a lane loads from p, where memory holds value. Stale loads may see the past,
// and fixed ones are by .nc.
func (w *warp) seen(value uint64, p unsafe.Pointer, size uint64, lane int, stale, fixed bool) uint64 {
	v := w.block.view
	if v == nil {
		return value
	}
	if stale && v.forgetful {
		value = v.recall(w.grid, value, p, size, fixed)
	}
	return w.forward(value, p, size, lane, v.since)
}

// forward lays over value, which is at p, what its device sees since a moment, and what the
// lane sees of its block's stores.
func (w *warp) forward(value uint64, p unsafe.Pointer, size uint64, lane int, since uint64) uint64 {
	if d := w.grid.device; d.count > 0 {
		self := w.block.view.self
		value = d.forward(value, p, size, func(st *pendingStore) bool { return st.moment <= since || st.writer == self })
	}
	return w.stores.see(value, p, size, w.thread(lane))
}
