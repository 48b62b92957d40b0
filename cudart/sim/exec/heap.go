package exec

import "slices"

// HeapBytes is the size of the heap of a device, the default of CUDA's cudaLimitMallocHeapSize.
const HeapBytes = 8 << 20

// heapAlign is the alignment of what malloc returns, as on GPUs.
const heapAlign = 16

// Allocator is what malloc and free in kernels call, for each lane.
type Allocator interface {
	// Malloc returns the address of so many bytes, or 0 where there is no room.
	Malloc(at Place, lane int, bytes uint64) uint64
	// Free gives back what Malloc returned, or the null pointer. It reports whether addr was either.
	Free(at Place, lane int, addr uint64) bool
}

// Heap is the memory that kernels allocate with malloc. What a kernel does not free stays for those after
// it. A heap belongs to one goroutine at a time.
type Heap struct {
	base, size uint64
	used       []extent // by address
}

type extent struct{ at, size uint64 }

// NewHeap makes a heap of size bytes of device memory at base.
func NewHeap(base, size uint64) *Heap { return &Heap{base: base, size: size} }

// Malloc implements Allocator.
func (h *Heap) Malloc(_ Place, _ int, bytes uint64) uint64 { return h.allocate(bytes) }

// Free implements Allocator.
func (h *Heap) Free(_ Place, _ int, addr uint64) bool { return h.free(addr) }

// allocate returns the address of so many bytes, or 0 where there is no room. It takes the first gap.
func (h *Heap) allocate(bytes uint64) uint64 {
	if bytes > h.size {
		return 0
	}
	bytes = max(bytes+heapAlign-1, heapAlign) &^ (heapAlign - 1)
	at := h.base
	for i, e := range h.used {
		if e.at-at >= bytes {
			h.used = slices.Insert(h.used, i, extent{at, bytes})
			return at
		}
		at = e.at + e.size
	}
	if h.base+h.size-at < bytes {
		return 0
	}
	h.used = append(h.used, extent{at, bytes})
	return at
}

// free gives back what allocate returned, or the null pointer. It reports whether addr was either.
func (h *Heap) free(addr uint64) bool {
	if addr == 0 {
		return true
	}
	i, ok := slices.BinarySearchFunc(h.used, addr, func(e extent, at uint64) int {
		switch {
		case e.at < at:
			return -1
		case e.at > at:
			return 1
		}
		return 0
	})
	if ok {
		h.used = slices.Delete(h.used, i, i+1)
	}
	return ok
}
