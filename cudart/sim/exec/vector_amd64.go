package exec

import (
	"strings"
	"unsafe"

	"gpurun/cudart/sim/simd"
)

// hasVectors reports whether assembly of package simd takes the place of the loops over lanes.
var hasVectors = simd.Available()

// vectorALUs are the instructions that assembly computes, by opcode and modifiers.
var vectorALUs = byMnemonic(map[string]simd.Instruction{
	"add.s32 add.u32": simd.Add32, "add.s64 add.u64": simd.Add64,
	"sub.s32 sub.u32": simd.Sub32, "sub.s64 sub.u64": simd.Sub64,
	"mul.lo.s32 mul.lo.u32": simd.MulLo32, "mul.lo.s64 mul.lo.u64": simd.MulLo64,
	"mad.lo.s32 mad.lo.u32": simd.MadLo32, "mad.lo.s64 mad.lo.u64": simd.MadLo64,
	"mul.wide.u32": simd.MulWideU32, "mul.wide.s32": simd.MulWideS32,
	"mad.wide.u32": simd.MadWideU32, "mad.wide.s32": simd.MadWideS32,
	"min.s32": simd.MinS32, "min.u32": simd.MinU32, "min.s64": simd.MinS64, "min.u64": simd.MinU64,
	"max.s32": simd.MaxS32, "max.u32": simd.MaxU32, "max.s64": simd.MaxS64, "max.u64": simd.MaxU64,

	"and.b16 and.b32 and.b64": simd.And, "or.b16 or.b32 or.b64": simd.Or, "xor.b16 xor.b32 xor.b64": simd.Xor,
	"not.b32": simd.Not32, "not.b64": simd.Not64,
	"shl.b32": simd.Shl32, "shl.b64": simd.Shl64,
	"shr.u32 shr.b32": simd.ShrU32, "shr.u64 shr.b64": simd.ShrU64, "shr.s32": simd.ShrS32, "shr.s64": simd.ShrS64,
	"mov.b16 mov.u16 mov.s16 mov.b32 mov.u32 mov.s32 mov.f32 mov.b64 mov.u64 mov.s64 mov.f64": simd.Copy,

	"add.f32 add.rn.f32": simd.AddF32, "add.f64 add.rn.f64": simd.AddF64,
	"sub.f32 sub.rn.f32": simd.SubF32, "sub.f64 sub.rn.f64": simd.SubF64,
	"mul.f32 mul.rn.f32": simd.MulF32, "mul.f64 mul.rn.f64": simd.MulF64,
	"fma.rn.f32": simd.FmaF32, "fma.rn.f64": simd.FmaF64,
	"div.rn.f32": simd.DivF32, "div.rn.f64": simd.DivF64,
	"sqrt.rn.f32": simd.SqrtF32, "sqrt.rn.f64": simd.SqrtF64,
	"min.f32": simd.MinF32, "max.f32": simd.MaxF32,

	"cvt.u64.u32 cvt.s64.u32 cvt.u32.u64 cvt.u32.s64 cvt.s32.u64 cvt.s32.s64": simd.Low32,
	"cvt.u32.u16 cvt.u64.u16 cvt.u16.u32 cvt.u16.u64":                         simd.Low16,
	"cvt.s64.s32":    simd.SignExtend32,
	"cvt.f32.f16":    simd.F32FromF16,
	"cvt.rn.f16.f32": simd.F16FromF32,
	"cvt.f64.f32":    simd.F64FromF32, "cvt.rn.f32.f64": simd.F32FromF64,
	"cvt.f32.bf16": simd.F32FromBF16, "cvt.rn.bf16.f32": simd.BF16FromF32,
	"cvt.rn.f32.s32": simd.F32FromS32,
})

// vectorPacks make a register of two parts, by their bits.
var vectorPacks = whereAvailable(map[int]simd.Instruction{16: simd.Pack16, 32: simd.Pack32})

// vectorSplits make two parts of a register, by the bits of a part.
var vectorSplits = whereAvailable(map[int]simd.Split{16: simd.Unpack16, 32: simd.Unpack32})

// vectorCompares are the comparisons of setp that assembly computes.
var vectorCompares = byMnemonic(map[string]simd.Comparison{
	"setp.eq.s32 setp.eq.u32 setp.eq.b32 setp.eq.s64 setp.eq.u64 setp.eq.b64": simd.EQU64,
	"setp.ne.s32 setp.ne.u32 setp.ne.b32 setp.ne.s64 setp.ne.u64 setp.ne.b64": simd.NEU64,
	"setp.lt.s32": simd.LTS32, "setp.le.s32": simd.LES32, "setp.gt.s32": simd.GTS32, "setp.ge.s32": simd.GES32,
	// Zero-extended, an unsigned 32-bit integer is a positive 64-bit one.
	"setp.lt.u32 setp.lo.u32 setp.lt.s64": simd.LTS64,
	"setp.le.u32 setp.ls.u32 setp.le.s64": simd.LES64,
	"setp.gt.u32 setp.hi.u32 setp.gt.s64": simd.GTS64,
	"setp.ge.u32 setp.hs.u32 setp.ge.s64": simd.GES64,
	"setp.lt.u64 setp.lo.u64":             simd.LTU64, "setp.le.u64 setp.ls.u64": simd.LEU64,
	"setp.gt.u64 setp.hi.u64": simd.GTU64, "setp.ge.u64 setp.hs.u64": simd.GEU64,

	"setp.eq.f32": simd.EQF32, "setp.ne.f32": simd.NEF32, "setp.lt.f32": simd.LTF32, "setp.le.f32": simd.LEF32,
	"setp.gt.f32": simd.GTF32, "setp.ge.f32": simd.GEF32, "setp.num.f32": simd.NUMF32, "setp.nan.f32": simd.NANF32,
	"setp.equ.f32": simd.EQUF32, "setp.neu.f32": simd.NEUF32, "setp.ltu.f32": simd.LTUF32, "setp.leu.f32": simd.LEUF32,
	"setp.gtu.f32": simd.GTUF32, "setp.geu.f32": simd.GEUF32,
	"setp.eq.f64": simd.EQF64, "setp.ne.f64": simd.NEF64, "setp.lt.f64": simd.LTF64, "setp.le.f64": simd.LEF64,
	"setp.gt.f64": simd.GTF64, "setp.ge.f64": simd.GEF64, "setp.num.f64": simd.NUMF64, "setp.nan.f64": simd.NANF64,
	"setp.equ.f64": simd.EQUF64, "setp.neu.f64": simd.NEUF64, "setp.ltu.f64": simd.LTUF64, "setp.leu.f64": simd.LEUF64,
	"setp.gtu.f64": simd.GTUF64, "setp.geu.f64": simd.GEUF64,
})

func whereAvailable[K comparable, V any](m map[K]V) map[K]V {
	if !hasVectors {
		return nil
	}
	return m
}

func byMnemonic[F any](groups map[string]F) map[string]F {
	all := map[string]F{}
	if !hasVectors {
		return all
	}
	for names, f := range groups {
		for _, name := range strings.Fields(names) {
			all[name] = f
		}
	}
	return all
}

// vectorLoad and vectorStore move n elements of size bytes for each lane between registers and adjacent memory. They
// are nil where only loops do.
func vectorLoad(n int, size uint64) func(w *warp, o *op, p unsafe.Pointer) {
	switch {
	case !hasVectors:
	case n == 2 && size == 4:
		return movePairs(simd.Load2x32)
	case n == 1 && size == 8:
		return moveOnes(simd.Load64)
	case n == 1 && size == 4:
		return moveOnes(simd.Load32)
	case n == 1 && size == 2:
		return moveOnes(simd.Load16)
	case n == 1 && size == 1:
		return moveOnes(simd.Load8)
	}
	return nil
}

func vectorStore(n int, size uint64) func(w *warp, o *op, p unsafe.Pointer) {
	switch {
	case !hasVectors:
	case n == 2 && size == 4:
		return movePairs(simd.Store2x32)
	case n == 1 && size == 8:
		return moveOnes(simd.Store64)
	case n == 1 && size == 4:
		return moveOnes(simd.Store32)
	}
	return nil
}

func movePairs(move func(a, b *simd.Lanes, p unsafe.Pointer)) func(w *warp, o *op, p unsafe.Pointer) {
	return func(w *warp, o *op, p unsafe.Pointer) {
		v := o.mem.vector
		move(&w.regs[v[0]], &w.regs[v[1]], p)
	}
}

func moveOnes(move func(a *simd.Lanes, p unsafe.Pointer)) func(w *warp, o *op, p unsafe.Pointer) {
	return func(w *warp, o *op, p unsafe.Pointer) { move(&w.regs[o.mem.vector[0]], p) }
}

// loadPairs and the next three are the movers of 16 bytes for each lane.
func loadPairs(w *warp, o *op, p unsafe.Pointer, offsets *lanes) {
	v := o.mem.vector
	simd.LoadPairs(p, offsets, &w.regs[v[0]], &w.regs[v[1]])
}

func storePairs(w *warp, o *op, p unsafe.Pointer, offsets *lanes) {
	v := o.mem.vector
	simd.StorePairs(p, offsets, &w.regs[v[0]], &w.regs[v[1]])
}

func loadFours(w *warp, o *op, p unsafe.Pointer, offsets *lanes) {
	v := o.mem.vector
	simd.LoadFours(p, offsets, &w.regs[v[0]], &w.regs[v[1]], &w.regs[v[2]], &w.regs[v[3]])
}

func storeFours(w *warp, o *op, p unsafe.Pointer, offsets *lanes) {
	v := o.mem.vector
	simd.StoreFours(p, offsets, &w.regs[v[0]], &w.regs[v[1]], &w.regs[v[2]], &w.regs[v[3]])
}

// hasWhole: the host accesses 16 aligned bytes at once.
var hasWhole = simd.AccessesWhole()

// load16 and store16 access 16 bytes at a multiple of 16.
func load16(p unsafe.Pointer) (low, high uint64) {
	if hasWhole {
		return simd.Load128(p)
	}
	return twoLoads(p)
}

func store16(p unsafe.Pointer, low, high uint64) {
	if hasWhole {
		simd.Store128(p, low, high)
		return
	}
	twoStores(p, low, high)
}

// copy16 copies n bytes, a multiple of 16, from a multiple of 16, and reports whether it can.
func copy16(to, from unsafe.Pointer, n int) bool {
	if hasWhole && n > 0 {
		simd.Copy128(to, from, n)
	}
	return hasWhole
}

// hasWideSwap: the host has an atomic exchange of 16 bytes.
var hasWideSwap = simd.HasSwap128()

// swapWord writes 16 bytes at a multiple of 16, if the old ones are there, and returns what was there.
func swapWord(p unsafe.Pointer, old, next word) (seen word) {
	seen[0], seen[1] = simd.Swap128(p, old[0], old[1], next[0], next[1])
	return seen
}

// affineCodes are what assembly does by the rules for affine values.
var affineCodes = map[affineRule]simd.AffineCode{
	{kind: affineCopy}:                                      simd.AffineCopy,
	{kind: affineAdd, bits: 64}:                             simd.AffineAdd64,
	{kind: affineAdd, bits: 32}:                             simd.AffineAdd32,
	{kind: affineSub, bits: 64}:                             simd.AffineSub64,
	{kind: affineSub, bits: 32}:                             simd.AffineSub32,
	{kind: affineMad, bits: 64}:                             simd.AffineMad64,
	{kind: affineMad, bits: 32}:                             simd.AffineMad32,
	{kind: affineMadWide, bits: 64, from: 32}:               simd.AffineMadWideU32,
	{kind: affineMadWide, bits: 64, from: 32, signed: true}: simd.AffineMadWideS32,
	{kind: affineShl, bits: 64}:                             simd.AffineShl64,
	{kind: affineShl, bits: 32}:                             simd.AffineShl32,
	{kind: affineExtend, bits: 64, from: 32}:                simd.AffineLow32,
	{kind: affineExtend, bits: 64, from: 32, signed: true}:  simd.AffineExtendS32,
	{kind: affineExtend, bits: 32, from: 64}:                simd.AffineLow32,
}

// testCodes are what assembly does to compare affine values, by width and sign.
var testCodes = map[affineTest]simd.AffineCode{
	{bits: 32}: simd.AffineCompareU32, {bits: 32, signed: true}: simd.AffineCompareS32,
	{bits: 64}: simd.AffineCompareU64, {bits: 64, signed: true}: simd.AffineCompareS64,
}

// accesses are the loads and stores that assembly makes, by what they move for each lane.
var accesses = whereAvailable(map[accessShape]simd.Access{
	{size: 4, n: 4}: simd.LoadFour32, {size: 8, n: 2}: simd.LoadTwo64, {size: 4, n: 2}: simd.LoadTwo32,
	{size: 8, n: 1}: simd.LoadOne64, {size: 4, n: 1}: simd.LoadOne32,
	{size: 4, n: 4, writes: true}: simd.StoreFour32, {size: 8, n: 2, writes: true}: simd.StoreTwo64,
	{size: 4, n: 2, writes: true}: simd.StoreTwo32, {size: 8, n: 1, writes: true}: simd.StoreOne64,
	{size: 4, n: 1, writes: true}: simd.StoreOne32,
})

// chooseStep makes a step of selp.
func chooseStep(p int32, flip uint32) func(o *op) simd.Step {
	if !hasVectors {
		return nil
	}
	return func(o *op) simd.Step { return simd.Choose.Step(o.d, o.a, o.b, p, flip).WithAffine(simd.AffineChoose) }
}

// logicStep makes a step of an operation on predicates.
func logicStep(o *op) simd.Step {
	l := &o.logic
	code := [...]simd.Logic{
		firstMask: simd.FirstMask, andMasks: simd.AndMasks, orMasks: simd.OrMasks, xorMasks: simd.XorMasks,
	}[l.how]
	return code.Step(o.p, l.a, l.b, l.flipA, l.flipB)
}

// runSteps executes up to n steps of a kernel, for all lanes, and returns how many.
func (w *warp) runSteps(first int32, n int32) int {
	r := simd.Registers{
		Lanes: &w.regs[0], Affines: (*simd.AffineValue)(unsafe.Pointer(&w.affines[0])), Forms: &w.forms[0],
		Predicates: &w.preds[0],
	}
	if w.stores == nil {
		r.Regions = (*simd.Region)(unsafe.Pointer(&w.grid.cache))
	}
	done := simd.Run(&r, &w.grid.kernel.steps[first], int(n))
	if r.Stored {
		w.progresses()
	}
	return done
}

// Assembly knows these types by the names of package simd.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(span{})-unsafe.Sizeof(simd.Region{})]
	_ = [1]struct{}{}[unsafe.Offsetof(span{}.ptr)-unsafe.Offsetof(simd.Region{}.Memory)]
	_ = [1]struct{}{}[unsafe.Sizeof(affine{})-unsafe.Sizeof(simd.AffineValue{})]
)

// choose makes d a in the lanes of mask, and b in the others.
func choose(d, a, b *lanes, mask uint32) {
	if hasVectors {
		simd.Choose.Call(d, a, b, mask)
	} else {
		chooseLoop(d, a, b, mask)
	}
}

// expand writes the lanes of an affine value.
func expand(d *lanes, r affine) {
	if hasVectors {
		simd.Affine(d, r.base, r.stride)
	} else {
		expandLoop(d, r)
	}
}

// unpackPair splits a into two parts of 8 to 32 bits.
func unpackPair(low, high, a *lanes, bits int) {
	switch {
	case hasVectors && bits == 32:
		simd.Unpack32.Call(low, high, a)
	case hasVectors && bits == 16:
		simd.Unpack16.Call(low, high, a)
	default:
		unpackLoop(low, high, a, bits)
	}
}
