//go:build !amd64

package exec

import (
	"unsafe"

	"gpurun/cudart/sim/simd"
)

// There is assembly for amd64 alone.
const hasVectors = false

var (
	vectorALUs     map[string]simd.Instruction
	vectorPacks    map[int]simd.Instruction
	vectorSplits   map[int]simd.Split
	vectorCompares map[string]simd.Comparison
	affineCodes    map[affineRule]simd.AffineCode
	testCodes      map[affineTest]simd.AffineCode
	accesses       map[accessShape]simd.Access
)

func vectorLoad(int, uint64) func(*warp, *op, unsafe.Pointer)  { return nil }
func vectorStore(int, uint64) func(*warp, *op, unsafe.Pointer) { return nil }

// The movers of 16 bytes for each lane are never called.
func loadPairs(*warp, *op, unsafe.Pointer, *lanes)  {}
func storePairs(*warp, *op, unsafe.Pointer, *lanes) {}
func loadFours(*warp, *op, unsafe.Pointer, *lanes)  {}
func storeFours(*warp, *op, unsafe.Pointer, *lanes) {}

// hasWhole: the host accesses 16 aligned bytes at once.
const hasWhole = false

func load16(p unsafe.Pointer) (low, high uint64)      { return twoLoads(p) }
func store16(p unsafe.Pointer, low, high uint64)      { twoStores(p, low, high) }
func copy16(unsafe.Pointer, unsafe.Pointer, int) bool { return false }

// hasWideSwap: the host has an atomic exchange of 16 bytes, or else swapWord is never called.
const hasWideSwap = false

func swapWord(unsafe.Pointer, word, word) word { return word{} }

func chooseStep(int32, uint32) func(*op) simd.Step { return nil }

// logicStep is never called.
func logicStep(*op) simd.Step { return simd.Step{} }

// runSteps is never called: no op has a step.
func (*warp) runSteps(int32, int32) int { return 0 }

func choose(d, a, b *lanes, mask uint32)       { chooseLoop(d, a, b, mask) }
func expand(d *lanes, r affine)                { expandLoop(d, r) }
func unpackPair(low, high, a *lanes, bits int) { unpackLoop(low, high, a, bits) }
