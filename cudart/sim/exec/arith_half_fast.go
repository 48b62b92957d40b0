package exec

import (
	"math"

	"gpurun/cudart/sim/ptx"
)

// Sums and products of 16-bit floats by single-precision arithmetic of the host, rounded to 16 bits
// once more. The second rounding gives what a single one gives, unless the single lies halfway between
// two 16-bit floats, which its low bits show, or is outside of the normal range. Then scalar decides.

// halfOp computes with singles. A zero must be exact.
type halfOp func(x, y, z float32) float32

var halfOps = map[string]halfOp{
	"add": func(x, y, _ float32) float32 { return x + y },
	"sub": func(x, y, _ float32) float32 { return x - y },
	"mul": func(x, y, _ float32) float32 { return exactProduct(x, y) },
	"fma": func(x, y, z float32) float32 { return exactProduct(x, y) + z },
}

// exactProduct is x*y, or a NaN where a single does not hold it.
func exactProduct(x, y float32) float32 {
	p := x * y
	if math.Abs(float64(p)) < 0x1p-126 && x != 0 && y != 0 {
		return float32(math.NaN())
	}
	return p
}

// halves finds a loop for an operation on 16-bit floats without modifiers; nil if there is none.
func (form floatForm) halves(t ptx.Type) alu {
	fast := halfOps[form.op]
	if t.Bits != 16 || fast == nil || form != (floatForm{op: form.op}) {
		return nil
	}
	exact := form.scalar(formatOf(t))
	one := func(a, b, c uint64) uint64 { return halfF16(fast, exact, a, b, c) }
	if t.Class == ptx.BFloat {
		one = func(a, b, c uint64) uint64 { return halfBF16(fast, exact, a, b, c) }
	}
	if t.Lanes == 2 {
		return packed(one, 16)
	}
	return unpacked(one)
}

func halfF16(fast halfOp, exact scalarFloat, a, b, c uint64) uint64 {
	s := math.Float32bits(fast(f32(widenF16(a)), f32(widenF16(b)), f32(widenF16(c))))
	e := s >> 23 & 0xff
	switch {
	case s<<1 == 0:
		return uint64(s >> 16)
	case e-113 >= 30, s&0x1fff == 0x1000:
		return exact(a, b, c)
	}
	m := s&0x7fffffff - 112<<23
	return uint64(s>>31<<15 | (m+0xfff+m>>13&1)>>13)
}

func halfBF16(fast halfOp, exact scalarFloat, a, b, c uint64) uint64 {
	s := math.Float32bits(fast(f32(a<<16), f32(b<<16), f32(c<<16)))
	e := s >> 23 & 0xff
	switch {
	case s<<1 == 0:
		return uint64(s >> 16)
	case e-1 >= 253, s&0xffff == 0x8000:
		return exact(a, b, c)
	}
	return uint64(s+0x7fff+s>>16&1) >> 16
}
