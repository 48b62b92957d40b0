package exec

import "unsafe"

// Loads and stores of all 32 lanes, whose addresses have been checked. The registers that
// are stored are up to date.

// movers are the functions of an access for all lanes.
type movers struct {
	all        func(w *warp, o *op, p unsafe.Pointer)              // at w.offsets from p
	strided    func(w *warp, o *op, p unsafe.Pointer, step uint64) // at affine addresses
	contiguous func(w *warp, o *op, p unsafe.Pointer)              // at adjacent addresses; nil: as strided
}

// moveAt moves the elements at affine addresses, the first of which is p.
func (m *movers) moveAt(w *warp, o *op, p unsafe.Pointer, step uint64) {
	if m.contiguous != nil && step == o.mem.bytes() {
		m.contiguous(w, o, p)
		return
	}
	m.strided(w, o, p, step)
}

// loads finds those that load n elements of a size.
func loads(n int, size uint64, signed bool) movers {
	m := loadLoops(n, size, signed)
	if v := vectorLoad(n, size); v != nil && !signed {
		m.contiguous = v
	}
	return m
}

func loadLoops(n int, size uint64, signed bool) movers {
	switch {
	case size == 1 && signed:
		return movers{loadAll[int8], loadStrided[int8], nil}
	case size == 2 && signed:
		return movers{loadAll[int16], loadStrided[int16], nil}
	case size == 4 && signed:
		return movers{loadAll[int32], loadStrided[int32], nil}
	case size == 1:
		return movers{loadAll[uint8], loadStrided[uint8], nil}
	case size == 2:
		return movers{loadAll[uint16], loadStrided[uint16], nil}
	case size == 4 && n == 4:
		return movers{loadAll[uint32], loadStrided[uint32], loadFours}
	case size == 4:
		return movers{loadAll[uint32], loadStrided[uint32], nil}
	case n == 2:
		return movers{loadAll[uint64], loadStrided[uint64], loadPairs}
	}
	return movers{loadAll[uint64], loadStrided[uint64], nil}
}

// stores finds those that store them.
func stores(n int, size uint64) movers {
	m := storeLoops(n, size)
	if v := vectorStore(n, size); v != nil {
		m.contiguous = v
	}
	return m
}

func storeLoops(n int, size uint64) movers {
	switch {
	case size == 1:
		return movers{storeAll[uint8], storeStrided[uint8], nil}
	case size == 2:
		return movers{storeAll[uint16], storeStrided[uint16], nil}
	case size == 4 && n == 4:
		return movers{storeAll[uint32], storeStrided[uint32], storeFours}
	case size == 4:
		return movers{storeAll[uint32], storeStrided[uint32], nil}
	case n == 2:
		return movers{storeAll[uint64], storeStrided[uint64], storePairs}
	}
	return movers{storeAll[uint64], storeStrided[uint64], nil}
}

// moveLocal moves the elements of all lanes if they are at one address of local memory.
func (w *warp) moveLocal(o *op, addr affine) bool {
	if addr.base>>RegionShift != localWindow>>RegionShift || !addr.uniform() {
		return false
	}
	at, n, size := addr.base-localWindow, o.mem.bytes(), uint64(w.localSize)
	if size < n || at > size-n || at&(n-1) != 0 {
		return false
	}
	o.mem.move.strided(w, o, unsafe.Pointer(&w.local[at]), size)
	return true
}

func loadAll[T integer](w *warp, o *op, p unsafe.Pointer) {
	for k, slot := range o.mem.vector {
		d, keep := &w.regs[slot], o.mem.masks[k]
		for i := range d {
			d[i] = uint64(*(*T)(unsafe.Add(p, w.offsets[i]))) & keep
		}
		p = unsafe.Add(p, o.mem.size)
	}
}

func storeAll[T unsigned](w *warp, o *op, p unsafe.Pointer) {
	for _, slot := range o.mem.vector {
		v := &w.regs[slot]
		for i := range v {
			*(*T)(unsafe.Add(p, w.offsets[i])) = T(v[i])
		}
		p = unsafe.Add(p, o.mem.size)
	}
}

func loadStrided[T integer](w *warp, o *op, p unsafe.Pointer, step uint64) {
	for k, slot := range o.mem.vector {
		d, keep := &w.regs[slot], o.mem.masks[k]
		for i := range d {
			d[i] = uint64(*(*T)(unsafe.Add(p, uint64(i)*step))) & keep
		}
		p = unsafe.Add(p, o.mem.size)
	}
}

func storeStrided[T unsigned](w *warp, o *op, p unsafe.Pointer, step uint64) {
	for _, slot := range o.mem.vector {
		v := &w.regs[slot]
		for i := range v {
			*(*T)(unsafe.Add(p, uint64(i)*step)) = T(v[i])
		}
		p = unsafe.Add(p, o.mem.size)
	}
}

// loadPairs loads two elements of 64 bits for each lane, one lane after the other.
func loadPairs(w *warp, o *op, p unsafe.Pointer) {
	a, b := &w.regs[o.mem.vector[0]], &w.regs[o.mem.vector[1]]
	for at := 0; at < lanesBytes; at += quadBytes {
		m, x, y := (*[8]uint64)(unsafe.Add(p, 2*at)), quadAt(a, at), quadAt(b, at)
		x[0], x[1], x[2], x[3] = m[0], m[2], m[4], m[6]
		y[0], y[1], y[2], y[3] = m[1], m[3], m[5], m[7]
	}
}

func storePairs(w *warp, o *op, p unsafe.Pointer) {
	a, b := &w.regs[o.mem.vector[0]], &w.regs[o.mem.vector[1]]
	for at := 0; at < lanesBytes; at += quadBytes {
		m, x, y := (*[8]uint64)(unsafe.Add(p, 2*at)), quadAt(a, at), quadAt(b, at)
		m[0], m[2], m[4], m[6] = x[0], x[1], x[2], x[3]
		m[1], m[3], m[5], m[7] = y[0], y[1], y[2], y[3]
	}
}

// loadFours loads four elements of 32 bits for each lane, one lane after the other.
func loadFours(w *warp, o *op, p unsafe.Pointer) {
	a, b := &w.regs[o.mem.vector[0]], &w.regs[o.mem.vector[1]]
	c, d := &w.regs[o.mem.vector[2]], &w.regs[o.mem.vector[3]]
	for at := 0; at < lanesBytes; at += quadBytes {
		m := (*[16]uint32)(unsafe.Add(p, 2*at))
		x, y := quadAt(a, at), quadAt(b, at)
		x[0], x[1], x[2], x[3] = uint64(m[0]), uint64(m[4]), uint64(m[8]), uint64(m[12])
		y[0], y[1], y[2], y[3] = uint64(m[1]), uint64(m[5]), uint64(m[9]), uint64(m[13])
		x, y = quadAt(c, at), quadAt(d, at)
		x[0], x[1], x[2], x[3] = uint64(m[2]), uint64(m[6]), uint64(m[10]), uint64(m[14])
		y[0], y[1], y[2], y[3] = uint64(m[3]), uint64(m[7]), uint64(m[11]), uint64(m[15])
	}
}

func storeFours(w *warp, o *op, p unsafe.Pointer) {
	a, b := &w.regs[o.mem.vector[0]], &w.regs[o.mem.vector[1]]
	c, d := &w.regs[o.mem.vector[2]], &w.regs[o.mem.vector[3]]
	for at := 0; at < lanesBytes; at += quadBytes {
		m := (*[16]uint32)(unsafe.Add(p, 2*at))
		x, y := quadAt(a, at), quadAt(b, at)
		m[0], m[4], m[8], m[12] = uint32(x[0]), uint32(x[1]), uint32(x[2]), uint32(x[3])
		m[1], m[5], m[9], m[13] = uint32(y[0]), uint32(y[1]), uint32(y[2]), uint32(y[3])
		x, y = quadAt(c, at), quadAt(d, at)
		m[2], m[6], m[10], m[14] = uint32(x[0]), uint32(x[1]), uint32(x[2]), uint32(x[3])
		m[3], m[7], m[11], m[15] = uint32(y[0]), uint32(y[1]), uint32(y[2]), uint32(y[3])
	}
}
