package exec

import "unsafe"

// Loads and stores of all 32 lanes. They have been checked.

// elements are the functions of an access; see [access].
type (
	moveAll  func(w *warp, o *op, p unsafe.Pointer)
	moveEven func(w *warp, o *op, p unsafe.Pointer, step uint64)
)

// loadsOf finds those that load elements of a size.
func loadsOf(size uint64, signed bool) (moveAll, moveEven) {
	switch {
	case size == 1 && signed:
		return loadAll[int8], loadEven[int8]
	case size == 2 && signed:
		return loadAll[int16], loadEven[int16]
	case size == 4 && signed:
		return loadAll[int32], loadEven[int32]
	case size == 1:
		return loadAll[uint8], loadEven[uint8]
	case size == 2:
		return loadAll[uint16], loadEven[uint16]
	case size == 4:
		return loadAll[uint32], loadEven[uint32]
	}
	return loadAll[uint64], loadEven[uint64]
}

// storesOf finds those that store them.
func storesOf(size uint64) (moveAll, moveEven) {
	switch size {
	case 1:
		return storeAll[uint8], storeEven[uint8]
	case 2:
		return storeAll[uint16], storeEven[uint16]
	case 4:
		return storeAll[uint32], storeEven[uint32]
	}
	return storeAll[uint64], storeEven[uint64]
}

func loadAll[T integer](w *warp, o *op, p unsafe.Pointer) {
	for k, slot := range o.mem.vector {
		d, keep := &w.regs[slot], o.mem.masks[k]
		for i := range d {
			d[i] = uint64(*(*T)(unsafe.Add(p, w.offsets[i]))) & keep
		}
		w.forget(slot)
		p = unsafe.Add(p, o.mem.size)
	}
}

func loadEven[T integer](w *warp, o *op, p unsafe.Pointer, step uint64) {
	for k, slot := range o.mem.vector {
		d, keep := &w.regs[slot], o.mem.masks[k]
		if step == 0 {
			w.setRamp(slot, ramp{base: uint64(*(*T)(p)) & keep})
		} else {
			at := uint64(0)
			for i := 0; i < len(d); i += 2 {
				d[i] = uint64(*(*T)(unsafe.Add(p, at))) & keep
				d[i+1] = uint64(*(*T)(unsafe.Add(p, at+step))) & keep
				at += 2 * step
			}
			w.forget(slot)
		}
		p = unsafe.Add(p, o.mem.size)
	}
}

func storeAll[T unsigned](w *warp, o *op, p unsafe.Pointer) {
	for _, slot := range o.mem.vector {
		w.refresh(slot)
		v := &w.regs[slot]
		for i := range v {
			*(*T)(unsafe.Add(p, w.offsets[i])) = T(v[i])
		}
		p = unsafe.Add(p, o.mem.size)
	}
}

func storeEven[T unsigned](w *warp, o *op, p unsafe.Pointer, step uint64) {
	for _, slot := range o.mem.vector {
		w.refresh(slot)
		v := &w.regs[slot]
		at := uint64(0)
		for i := 0; i < len(v); i += 2 {
			*(*T)(unsafe.Add(p, at)) = T(v[i])
			*(*T)(unsafe.Add(p, at+step)) = T(v[i+1])
			at += 2 * step
		}
		p = unsafe.Add(p, o.mem.size)
	}
}
