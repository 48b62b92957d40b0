package exec

import "unsafe"

// Vector loads and stores of all 32 lanes, in pieces (mem_whole.go).

// loadsOfPieces finds the movers of a load by a GPU.
func loadsOfPieces(a *access) movers {
	switch size, n := a.bytes(), len(a.vector); {
	case n == 1:
		return loads(a.size, a.signed)
	case a.extendsSign():
		return movers{}
	case size == 2:
		return atOffsets(loadPacked[uint16])
	case size == 4:
		return atOffsets(loadPacked[uint32])
	case size == 8 && n == 2:
		return atOffsets(loadPacked[uint64]).contiguously(size, vectorLoad(2, 4))
	case size == 8:
		return atOffsets(loadPacked[uint64])
	case size == wholeBytes && hasVectors && n == 2:
		return atOffsets(loadPairs)
	case size == wholeBytes && hasVectors && n == 4:
		return atOffsets(loadFours)
	}
	return movers{}
}

// storesOfPieces finds the movers of a weak store by a GPU.
func storesOfPieces(a *access) movers {
	switch size, n := a.bytes(), len(a.vector); {
	case n == 1:
		return stores(a.size)
	case size == 2:
		return atOffsets(storePacked[uint16])
	case size == 4:
		return atOffsets(storePacked[uint32])
	case size == 8 && n == 2:
		return atOffsets(storePacked[uint64]).contiguously(size, vectorStore(2, 4))
	case size == 8:
		return atOffsets(storePacked[uint64])
	case size == wholeBytes && hasVectors && n == 2:
		return atOffsets(storePairs)
	case size == wholeBytes && hasVectors && n == 4:
		return atOffsets(storeFours)
	}
	return movers{}
}

// extendsSign reports whether a load writes the sign to bits above its elements.
func (a *access) extendsSign() bool {
	for _, keep := range a.masks {
		if a.signed && keep != widthMask(int(8*a.size)) {
			return true
		}
	}
	return false
}

// lanesMover moves the elements of all lanes, which are at offsets from p.
type lanesMover func(w *warp, o *op, p unsafe.Pointer, offsets *lanes)

// adjacent are the offsets of pieces of 16 bytes one behind the other.
var adjacent = func() (v lanes) {
	for i := range v {
		v[i] = wholeBytes * uint64(i)
	}
	return v
}()

// atOffsets makes movers of one at offsets.
func atOffsets(move lanesMover) movers {
	return movers{
		all: func(w *warp, o *op, p unsafe.Pointer) { move(w, o, p, &w.offsets) },
		strided: func(w *warp, o *op, p unsafe.Pointer, step uint64) {
			if step == wholeBytes {
				move(w, o, p, &adjacent)
				return
			}
			for i := range w.offsets {
				w.offsets[i] = uint64(i) * step
			}
			move(w, o, p, &w.offsets)
		},
	}
}

// loadPacked loads all elements of a lane as one T.
func loadPacked[T unsigned](w *warp, o *op, p unsafe.Pointer, offsets *lanes) {
	width, mask := 8*o.mem.size, widthMask(int(8*o.mem.size))
	for i := range offsets {
		v := uint64(*(*T)(unsafe.Add(p, offsets[i])))
		for k, slot := range o.mem.vector {
			w.regs[slot][i] = v & mask & o.mem.masks[k]
			v >>= width
		}
	}
}

func storePacked[T unsigned](w *warp, o *op, p unsafe.Pointer, offsets *lanes) {
	width, mask := 8*o.mem.size, widthMask(int(8*o.mem.size))
	for i := range offsets {
		v := uint64(0)
		for k, slot := range o.mem.vector {
			v |= w.regs[slot][i] & mask << (uint64(k) * width)
		}
		*(*T)(unsafe.Add(p, offsets[i])) = T(v)
	}
}
