package simd

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// AccessesWhole reports whether the processor accesses 16 aligned bytes at once, and Load128, Store128 and Copy128
// can be called.
func AccessesWhole() bool { return cpu.X86.HasAVX }

// Load128 loads 16 bytes at a multiple of 16, at once.
//
//go:noescape
func Load128(p unsafe.Pointer) (low, high uint64)

// Store128 stores 16 bytes at a multiple of 16, at once.
//
//go:noescape
func Store128(p unsafe.Pointer, low, high uint64)

// Copy128 copies n bytes, a multiple of 16 and not 0. It loads each 16 bytes at once; from is a multiple of 16.
//
//go:noescape
func Copy128(to, from unsafe.Pointer, n int)

// LoadPairs loads 16 bytes for each lane, at p plus its offset, as two registers of 64 bits. Addresses are multiples
// of 16, here and below, and each lane's bytes are accessed at once.
//
//go:noescape
func LoadPairs(p unsafe.Pointer, offsets, a, b *Lanes)

// StorePairs stores two registers of 64 bits in the same way.
//
//go:noescape
func StorePairs(p unsafe.Pointer, offsets, a, b *Lanes)

// LoadFours loads 16 bytes for each lane as four registers of 32 bits.
//
//go:noescape
func LoadFours(p unsafe.Pointer, offsets, a, b, c, d *Lanes)

// StoreFours stores the low halves of four registers.
//
//go:noescape
func StoreFours(p unsafe.Pointer, offsets, a, b, c, d *Lanes)

// HasSwap128 reports whether Swap128 can be called.
func HasSwap128() bool { return cpu.X86.HasCX16 }

// Swap128 writes 16 bytes at a multiple of 16, if the old ones are there, and returns what was there: one atomic
// operation.
//
//go:noescape
func Swap128(p unsafe.Pointer, oldLow, oldHigh, newLow, newHigh uint64) (low, high uint64)
