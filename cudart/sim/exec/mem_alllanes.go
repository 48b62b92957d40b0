package exec

import "unsafe"

// Loads and stores of all 32 lanes, whose addresses have been checked. The registers that
// are stored are up to date.

// movers are the functions of an access for all lanes; nil where the lanes go one after the other.
type movers struct {
	all     func(w *warp, o *op, p unsafe.Pointer)              // at w.offsets from p
	strided func(w *warp, o *op, p unsafe.Pointer, step uint64) // at affine addresses, the first of which is p
}

// contiguously makes a function move the elements at adjacent addresses, so many bytes for each lane, if
// there is one.
func (m movers) contiguously(bytes uint64, move func(w *warp, o *op, p unsafe.Pointer)) movers {
	if move == nil {
		return m
	}
	others := m.strided
	m.strided = func(w *warp, o *op, p unsafe.Pointer, step uint64) {
		if step == bytes {
			move(w, o, p)
			return
		}
		others(w, o, p, step)
	}
	return m
}

// loads finds those that load one element per lane.
func loads(size uint64, signed bool) movers {
	m := loadLoops(size, signed)
	if signed {
		return m
	}
	return m.contiguously(size, vectorLoad(1, size))
}

func loadLoops(size uint64, signed bool) movers {
	switch {
	case size == 1 && signed:
		return movers{loadAll[int8], loadStrided[int8]}
	case size == 2 && signed:
		return movers{loadAll[int16], loadStrided[int16]}
	case size == 4 && signed:
		return movers{loadAll[int32], loadStrided[int32]}
	case size == 1:
		return movers{loadAll[uint8], loadStrided[uint8]}
	case size == 2:
		return movers{loadAll[uint16], loadStrided[uint16]}
	case size == 4:
		return movers{loadAll[uint32], loadStrided[uint32]}
	}
	return movers{loadAll[uint64], loadStrided[uint64]}
}

// stores finds those that store one element per lane.
func stores(size uint64) movers { return storeLoops(size).contiguously(size, vectorStore(1, size)) }

func storeLoops(size uint64) movers {
	switch size {
	case 1:
		return movers{storeAll[uint8], storeStrided[uint8]}
	case 2:
		return movers{storeAll[uint16], storeStrided[uint16]}
	case 4:
		return movers{storeAll[uint32], storeStrided[uint32]}
	}
	return movers{storeAll[uint64], storeStrided[uint64]}
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
