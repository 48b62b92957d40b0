// Package tensorcore is the arithmetic of matrix multiplication on NVIDIA's
// tensor cores: sums of products of 16-bit floats in fp32, bit for bit.
//
// NVIDIA does not document it, and it is not a chain of fused multiply-adds. What was
// found by experiments on GPUs is this. A dot product is cut into blocks. Of a
// block, the products are exact; they and the accumulator are the addends:
//
//   - An addend's exponent is that of its operands, added for a product, whose
//     significand is therefore in [1, 4). Subnormal operands have the least
//     exponent of their format, and a significand below 1.
//   - All addends are aligned to the largest exponent, and truncated toward
//     zero to 23 and a few extra bits after the point.
//   - They are added exactly, and the sum is normalised once and truncated toward
//     zero to fp32, subnormal where it is that small, infinite where it is too large.
//   - It is the accumulator of the next block.
//
// Products beyond the range of fp32 that cancel do no harm. A sum that is zero is +0, one
// that is truncated to zero too, and every NaN is 0x7fffffff.
//
// Sources: M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of
// NVIDIA tensor cores", PeerJ CS 2021 (alignment, truncation, no normalisation in
// between); F. Khattak, M. Mikaitis, "Accurate models of NVIDIA tensor cores",
// arXiv 2512.07004 (blocks and extra bits of A100, H100, H200 and B200, compared
// with those on random inputs); P. Xie and others, "MMA-Sim", arXiv 2511.10909
// (the same found independently, and wgmma, and the bits of NaN).
package tensorcore

import "math"

// Model is what tensor cores of different GPUs differ in.
type Model struct {
	Block int // products that are summed at once
	Extra int // bits kept after the 23 of fp32 when addends are aligned
	// Floor is the least exponent that addends are aligned to.
	// It is -400 at least, which is below all products.
	Floor int
	// Nearest rounds a sum to nearest even. No GPU is known to, with an fp32 accumulator.
	Nearest bool
}

// Of returns the model of GPUs of a compute capability, given its major number.
//
// Block and Extra are those of both papers, for 8.x (A100, A30) and from 9.0 on (H100,
// H200, B200). Floor is -133, the exponent of the least bfloat16, as in Khattak's and
// Mikaitis's models of the H200 and B200; MMA-Sim aligns to -126 at least. They differ only
// where every addend is below 2^-125. Of random products of that size an H200 gave what
// follows from -133, by mma.sync and wgmma, and from no other exponent. For 8.x it is a guess.
func Of(major int) Model {
	if major < 9 {
		return Model{Block: 8, Extra: 1, Floor: -133}
	}
	return Model{Block: 16, Extra: 2, Floor: -133}
}

// Format is a 16-bit floating-point format.
type Format uint8

// The formats.
const (
	Half     Format = iota // IEEE binary16
	BFloat16               // the upper half of an IEEE single
)

// Element is a decoded operand.
type Element struct {
	value float64
	// exponent is that of the significand, of a subnormal number its format's least.
	exponent int32
}

// Exponents of what has none. They lie so far apart that a product of a zero is
// below any other, and one of an infinity or NaN above.
const (
	ofZero    = -1 << 12
	ofSpecial = 1 << 20
	special   = 1 << 19 // what exponents with a special operand exceed
)

// Decode returns the element with the given bits.
func (f Format) Decode(b uint16) Element {
	if f == BFloat16 {
		return single(uint32(b) << 16)
	}
	e, m := uint64(b>>10&31), uint64(b&1023)
	x := Element{math.Float64frombits((e+1008)<<52 | m<<42), int32(e) - 15}
	switch {
	case e == 31 && m != 0:
		x = Element{math.NaN(), ofSpecial}
	case e == 31:
		x = Element{math.Inf(1), ofSpecial}
	case e == 0 && m == 0:
		x = Element{0, ofZero}
	case e == 0:
		x = Element{float64(m) * 0x1p-24, -14}
	}
	if b>>15 != 0 {
		x.value = -x.value
	}
	return x
}

// leastExponent is that of fp32.
const leastExponent = -126

// single decodes the bits of an fp32 number.
func single(b uint32) Element {
	x := Element{float64(math.Float32frombits(b)), int32(b>>23&0xff) - 127}
	switch {
	case x.exponent == 128:
		x.exponent = ofSpecial
	case x.value == 0:
		x.exponent = ofZero
	case x.exponent == -127:
		x.exponent = leastExponent
	}
	return x
}

// Negated returns -x.
func (x Element) Negated() Element { return Element{-x.value, x.exponent} }

// AllFinite reports whether none is an infinity or not a number.
func AllFinite(all []Element) bool {
	for i := range all {
		if all[i].exponent > special {
			return false
		}
	}
	return true
}

// AllZero reports whether all are zeros. Their products with what is finite change no
// sum, but that they make +0 of -0, as a sum of no products does.
func AllZero(all []Element) bool {
	for i := range all {
		if all[i].exponent != ofZero {
			return false
		}
	}
	return true
}
