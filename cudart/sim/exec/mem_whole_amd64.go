package exec

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// hasWhole: the host accesses 16 aligned bytes at once.
var hasWhole = cpu.X86.HasAVX

// load16 and store16 access 16 bytes at a multiple of 16.
func load16(p unsafe.Pointer) (low, high uint64) {
	if hasWhole {
		return load16AVX(p)
	}
	return twoLoads(p)
}

func store16(p unsafe.Pointer, low, high uint64) {
	if hasWhole {
		store16AVX(p, low, high)
		return
	}
	twoStores(p, low, high)
}

//go:noescape
func load16AVX(p unsafe.Pointer) (low, high uint64)

//go:noescape
func store16AVX(p unsafe.Pointer, low, high uint64)

// For all lanes: 16 bytes at p plus each offset, as two registers of 64 bits or four of 32.
//
//go:noescape
func loadPairsAVX2(p unsafe.Pointer, offsets, a, b *lanes)

//go:noescape
func storePairsAVX2(p unsafe.Pointer, offsets, a, b *lanes)

//go:noescape
func loadFoursAVX2(p unsafe.Pointer, offsets, a, b, c, d *lanes)

//go:noescape
func storeFoursAVX2(p unsafe.Pointer, offsets, a, b, c, d *lanes)
