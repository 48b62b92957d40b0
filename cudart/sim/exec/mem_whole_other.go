//go:build !amd64

package exec

import "unsafe"

// hasWhole: the host accesses 16 aligned bytes at once.
const hasWhole = false

func load16(p unsafe.Pointer) (low, high uint64) { return twoLoads(p) }

func store16(p unsafe.Pointer, low, high uint64) { twoStores(p, low, high) }

func loadPairsAVX2(p unsafe.Pointer, offsets, a, b *lanes) {}

func storePairsAVX2(p unsafe.Pointer, offsets, a, b *lanes) {}

func loadFoursAVX2(p unsafe.Pointer, offsets, a, b, c, d *lanes) {}

func storeFoursAVX2(p unsafe.Pointer, offsets, a, b, c, d *lanes) {}
