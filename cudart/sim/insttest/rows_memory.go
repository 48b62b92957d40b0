package insttest

import (
	"fmt"
	"math/big"
)

// The rows of this file access the operands where they lie in memory: a is at %base+8, b and c are the
// 16 bytes from %base+16 on.

func memoryGroups() []Group {
	var atomics, newer, accesses, wide, fences list
	atomics.addIntegerAtomics()
	atomics.addFloatAtomics("f16", "b16", Half)
	atomics.addFloatAtomics("f32", "f32", Single)
	atomics.addFloatAtomics("f64", "f64", Double)
	newer.addFloatAtomics("bf16", "b16", BFloat)
	newer.addVectorAtomics()
	accesses.addAccesses()
	accesses.addVectorRegisters()
	wide.addWide()
	fences.addFences()
	return []Group{
		{"atomics", sm80, atomics},
		{"newer atomics", sm90, newer},
		{"accesses", sm80, accesses},
		{"128 bits", sm90wide, wide},
		{"fences", sm90fences, fences},
	}
}

// addAtomic adds atom, for what was in memory and for what is there after it, and red.
func (l *list) addAtomic(op, t, reg string, next Func) {
	types := reg + " " + reg + " " + reg + " " + reg
	operands := "[%base+8], b"
	if op == "cas" {
		operands += ", c"
	}
	load := fmt.Sprintf("ld.global.%s d, [%%base+8];", reg)
	l.add(types, fmt.Sprintf("atom.global.%s.%s d, %s;", op, t, operands), func(a, _, _ uint64) uint64 { return a })
	l.add(types, fmt.Sprintf("atom.global.%s.%s d, %s; %s", op, t, operands, load), next)
	if op != "cas" && op != "exch" {
		l.add(types, fmt.Sprintf("red.relaxed.gpu.global.%s.%s %s; %s", op, t, operands, load), next)
		l.add(types, fmt.Sprintf("red.%s.%s %s; %s", op, t, operands, load), next)
	}
}

func (l *list) addIntegerAtomics() {
	for _, t := range []string{"u32", "s32", "u64"} {
		l.addAtomic("add", t, "b"+t[1:], onNumbers(t, func(x, y, _ *big.Int) *big.Int { return sum(x, y) }))
	}
	for _, t := range []string{"u32", "s32", "u64", "s64"} {
		l.addAtomic("min", t, "b"+t[1:], onNumbers(t, func(x, y, _ *big.Int) *big.Int { return least(x, y) }))
		l.addAtomic("max", t, "b"+t[1:], onNumbers(t, func(x, y, _ *big.Int) *big.Int { return greatest(x, y) }))
	}
	for _, t := range []string{"b32", "b64"} {
		mask := Mask(t)
		l.addAtomic("and", t, t, func(a, b, _ uint64) uint64 { return a & b })
		l.addAtomic("or", t, t, func(a, b, _ uint64) uint64 { return a | b })
		l.addAtomic("xor", t, t, func(a, b, _ uint64) uint64 { return a ^ b })
		l.addAtomic("exch", t, t, func(_, b, _ uint64) uint64 { return b })
		l.addAtomic("cas", t, t, func(a, b, c uint64) uint64 {
			return truth(a&mask == b&mask, c) | truth(a&mask != b&mask, a)
		})
	}
	l.addAtomic("cas", "b16", "b16",
		func(a, b, c uint64) uint64 { return truth(a&0xffff == b&0xffff, c) | truth(a&0xffff != b&0xffff, a) })
	l.addAtomic("inc", "u32", "b32", func(a, b, _ uint64) uint64 { return truth(uint32(a) < uint32(b), a+1) })
	l.addAtomic("dec", "u32", "b32", func(a, b, _ uint64) uint64 {
		if uint32(a) == 0 || uint32(a) > uint32(b) {
			return b
		}
		return a - 1
	})
}

func (l *list) addFloatAtomics(t, reg string, f Format) {
	add := f.atomicAdd()
	if reg != "b16" {
		l.addAtomic("add", t, reg, add)
		return
	}
	l.addAtomic("add.noftz", t, reg, add)
	l.addAtomic("add.noftz", t+"x2", "b32", pairs(add))
}

// atomicAdd is the sum that atomic operations make in global memory: singles are flushed, and a double
// that is a NaN comes out as it is.
func (f Format) atomicAdd() Func {
	add := f.arithmetic("add", "rn")
	switch f {
	case Single:
		return f.modified("ftz.", add)
	case Double:
		return func(a, b, c uint64) uint64 {
			switch {
			case f.isNaN(b):
				return b
			case f.isNaN(a):
				return a
			}
			return add(a, b, c)
		}
	}
	return add
}

// addVectorAtomics adds updates of the 16 bytes of b and c, by themselves, and by operands that are made
// of a.
func (l *list) addVectorAtomics() {
	add := func(op, text, what string, next Func) {
		mem := fmt.Sprintf(text, op)
		l.add("b64 b64 b64 b64", "{ .reg .b32 w<8>; .reg .b16 h<16>; .reg .f32 f<8>; mov.b64 {w0, w1}, a; "+
			"mov.b64 {h0, h1, h2, h3}, a; mov.b64 {f0, f1}, a; "+mem+" ld.global.b64 d, ["+what+"]; }", next)
	}
	single := Single.atomicAdd()
	add("", "red.global.add%s.v2.f32 [%%base+16], {f0, f1};", "%base+16", func(a, b, _ uint64) uint64 {
		return single(b, a, 0) | single(b>>32, a>>32, 0)<<32
	})
	add("", "atom.global.add%s.v4.f32 {f4, f5, f6, f7}, [%%base+16], {f0, f1, f1, f0};", "%base+24",
		func(a, _, c uint64) uint64 {
			return single(c, a>>32, 0) | single(c>>32, a, 0)<<32
		})
	for t, f := range map[string]Format{"f16": Half, "bf16": BFloat} {
		for _, op := range []string{"add", "min", "max"} {
			one := f.arithmetic("add", "rn")
			if op != "add" {
				one = f.extremum(op, "")
			}
			four := func(a, b, _ uint64) uint64 { return pairs(one)(b, a, 0) | pairs(one)(b>>32, a>>32, 0)<<32 }
			add(op, "red.global.%s.noftz.v4."+t+" [%%base+16], {h0, h1, h2, h3};", "%base+16", four)
			add(op, "red.relaxed.sys.global.%s.noftz.v2."+t+"x2 [%%base+16], {w0, w1};", "%base+16", four)
			add(op, "atom.global.%s.noftz.v8."+t+
				" {h4, h5, h6, h7, h8, h9, h10, h11}, [%%base+16], {h0, h1, h2, h3, h0, h1, h2, h3};", "%base+24",
				func(a, _, c uint64) uint64 { return four(a, c, 0) })
			// What was there comes back.
			add(op, "atom.global.%s.noftz.v2."+t+"x2 {w4, w5}, [%%base+16], {w0, w1}; st.global.v2.b32 [%%base+8], {w4, w5};",
				"%base+8",
				func(_, b, _ uint64) uint64 { return b })
		}
	}
}

// addAccesses adds loads, stores and what caches are told.
func (l *list) addAccesses() {
	for _, cop := range []string{
		"", "ca.", "cg.", "cs.", "lu.", "cv.", "L1::evict_normal.", "L1::evict_unchanged.", "L1::evict_first.",
		"L1::evict_last.", "L1::no_allocate.", "L2::64B.", "L2::128B.", "L2::256B.", "nc.", "nc.L1::no_allocate.L2::256B.",
	} {
		l.add("b32 b32", "ld.global."+cop+"u32 d, [%base+8];", func(a, _, _ uint64) uint64 { return a })
	}
	for _, cop := range []string{"", "wb.", "cg.", "cs.", "wt.", "L1::evict_last.", "L1::no_allocate."} {
		l.add("b32 b32 b32", "st.global."+cop+"u32 [%base+8], b; ld.global.u32 d, [%base+8];",
			func(_, b, _ uint64) uint64 { return b })
	}
	for policy, text := range map[string]string{
		"fractional": "createpolicy.fractional.L2::evict_last.b64 policy, 1.0;",
		"secondary":  "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 policy;",
		"range":      "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 policy, [%base], 4096, 8192;",
	} {
		begin := "{ .reg .b64 policy; " + text
		l.add("b32 b32", begin+" ld.global.L2::cache_hint.b32 d, [%base+8], policy; }",
			func(a, _, _ uint64) uint64 { return a })
		if policy != "fractional" {
			continue
		}
		l.add("b32 b32", begin+" ld.global.nc.L1::no_allocate.L2::cache_hint.L2::128B.b32 d, [%base+8], policy; }",
			func(a, _, _ uint64) uint64 { return a })
		l.add("b32 b32 b32", begin+" st.global.L2::cache_hint.b32 [%base+8], b, policy; ld.global.b32 d, [%base+8]; }",
			func(_, b, _ uint64) uint64 { return b })
		l.add("b32 b32 b32", begin+" atom.global.add.L2::cache_hint.u32 d, [%base+8], b, policy; }",
			func(a, _, _ uint64) uint64 { return a })
		l.add("b32 b32 b32", begin+" red.global.and.L2::cache_hint.b32 [%base+8], b, policy; ld.global.b32 d, [%base+8]; }",
			func(a, b, _ uint64) uint64 { return a & b })
	}
	for _, hint := range []string{
		"prefetch.global.L1 [%base];", "prefetch.global.L2 [%base];", "prefetch.global.L2::evict_last [%base];",
		"prefetch.global.L2::evict_normal [%base];", "prefetch.L1 [%base];", "prefetchu.L1 [%base];", "pmevent 7;",
	} {
		l.add("b32 b32", hint+" mov.b32 d, a;", func(a, _, _ uint64) uint64 { return a })
	}
	for _, t := range []string{"u8", "s8", "u16", "s16", "u32", "s32"} {
		l.add("b64 b64", "ld.global."+t+" d, [%base+8];", func(a, _, _ uint64) uint64 { return wrap(number(t, a)) })
		l.add("b64 b64", "ld.relaxed.gpu.global."+t+" d, [%base+8];",
			func(a, _, _ uint64) uint64 { return wrap(number(t, a)) })
	}
}

// addVectorRegisters adds accesses to registers declared with .v2 and .v4, and moves of them.
func (l *list) addVectorRegisters() {
	l.add("b64 b64 b64", "{ .reg .v2 .b64 v; mov.v2.b64 v, {a, b}; mov.v2.b64 v, {v.y, v.x}; "+
		"st.global.v2.b64 [%base+16], v; ld.global.b64 d, [%base+16]; sub.s64 d, d, v.y; add.s64 d, d, v.g; }",
		func(_, b, _ uint64) uint64 { return b })
	l.add("f32 f32", "{ .reg .v4 .f32 v; ld.global.v4.f32 v, [%base]; mov.f32 d, v.b; }",
		func(a, _, _ uint64) uint64 { return a })
}

// addFences adds fences of shared memory alone, which leave registers as they are.
func (l *list) addFences() {
	for _, proxy := range []string{"", ".proxy.async::generic"} {
		for _, how := range []string{"acquire.sync_restrict::shared::cluster", "release.sync_restrict::shared::cta"} {
			l.add("b32 b32", "fence"+proxy+"."+how+".cluster; mov.b32 d, a;", func(a, _, _ uint64) uint64 { return a })
		}
	}
}
