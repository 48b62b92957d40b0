package exec

import (
	"math/bits"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

type signed interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type integer interface{ unsigned | signed }

// zext is x as a register holds it: zero-extended from its own width.
func zext[T integer](x T) uint64 {
	return uint64(x) & (1<<(8*unsafe.Sizeof(x)) - 1)
}

// byWidth picks the variant for 16, 32 or 64 bits, or nil.
func byWidth[F any](t ptx.Type, w16, w32, w64 F) (f F) {
	if t.IsFloat() || t.Class == ptx.Pred || t.Lanes != 1 {
		return f
	}
	switch t.Bits {
	case 16:
		return w16
	case 32:
		return w32
	case 64:
		return w64
	}
	return f
}

// bySign picks the unsigned or signed variant; untyped bits count as unsigned.
func bySign[F any](t ptx.Type, u16, u32, u64, s16, s32, s64 F) F {
	if t.Class == ptx.Signed {
		return byWidth(t, s16, s32, s64)
	}
	return byWidth(t, u16, u32, u64)
}

func addInt[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) + T(b[i]))
	}
}

func subInt[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) - T(b[i]))
	}
}

func mulLo[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) * T(b[i]))
	}
}

func madLo[T unsigned](d, a, b, c *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i])*T(b[i]) + T(c[i]))
	}
}

// mulWide multiplies to twice the width: N is the type of the factors, W that
// of the product.
func mulWide[N, W integer](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = zext(W(N(a[i])) * W(N(b[i])))
	}
}

func madWide[N, W integer](d, a, b, c *lanes) {
	for i := range d {
		d[i] = zext(W(N(a[i]))*W(N(b[i])) + W(c[i]))
	}
}

// mulHi returns the upper half of the product of two values of up to 32 bits.
func mulHi[N, W integer](a, b uint64) uint64 {
	var n N
	return zext(N((W(N(a)) * W(N(b))) >> (8 * unsafe.Sizeof(n))))
}

func mulHiU64(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	return hi
}

func mulHiS64(a, b uint64) uint64 {
	hi, _ := bits.Mul64(a, b)
	if int64(a) < 0 {
		hi -= b
	}
	if int64(b) < 0 {
		hi -= a
	}
	return hi
}

func minInt[T integer](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = zext(min(T(a[i]), T(b[i])))
	}
}

func maxInt[T integer](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = zext(max(T(a[i]), T(b[i])))
	}
}

// divInt divides toward zero. PTX leaves division by zero open; GPUs return
// all ones.
func divInt[T integer](a, b uint64) uint64 {
	if T(b) == 0 {
		return zext(^T(0))
	}
	return zext(T(a) / T(b))
}

// remInt is the remainder that goes with divInt. GPUs return all ones for a
// zero divisor here too.
func remInt[T integer](a, b uint64) uint64 {
	if T(b) == 0 {
		return zext(^T(0))
	}
	return zext(T(a) % T(b))
}

func negInt[T unsigned](d, a, _, _ *lanes) {
	for i := range d {
		d[i] = uint64(-T(a[i]))
	}
}

func absInt[T signed](a uint64) uint64 {
	if T(a) < 0 {
		return zext(-T(a))
	}
	return zext(T(a))
}

// addSat and subSat clamp a 32-bit signed result to its range.
func addSat(a, b uint64) uint64 { return clampS32(int64(int32(a)) + int64(int32(b))) }
func subSat(a, b uint64) uint64 { return clampS32(int64(int32(a)) - int64(int32(b))) }

func clampS32(x int64) uint64 { return uint64(uint32(max(-1<<31, min(1<<31-1, x)))) }

// integerBinary finds the integer operation with two sources, or nil.
func (c *compiler) integerBinary(o *op, t ptx.Type) alu {
	switch op := c.in.Op; {
	case op == "add" && t == s32 && c.has("sat"):
		return lift2(addSat)
	case op == "sub" && t == s32 && c.has("sat"):
		return lift2(subSat)
	case op == "add":
		o.affine = affineAdd.modulo(t)
		return byWidth[alu](t, addInt[uint16], addInt[uint32], addInt[uint64])
	case op == "sub":
		o.affine = affineSub.modulo(t)
		return byWidth[alu](t, subInt[uint16], subInt[uint32], subInt[uint64])
	case (op == "min" || op == "max") && t == s32 && c.has("relu"):
		c.needs(90, 8, 0)
		if op == "min" {
			return reluInt(minInt[int32])
		}
		return reluInt(maxInt[int32])
	case op == "min":
		return bySign[alu](t, minInt[uint16], minInt[uint32], minInt[uint64], minInt[int16], minInt[int32], minInt[int64])
	case op == "max":
		return bySign[alu](t, maxInt[uint16], maxInt[uint32], maxInt[uint64], maxInt[int16], maxInt[int32], maxInt[int64])
	case op == "div":
		return lift2(bySign(t, divInt[uint16], divInt[uint32], divInt[uint64], divInt[int16], divInt[int32], divInt[int64]))
	case op == "rem":
		return lift2(bySign(t, remInt[uint16], remInt[uint32], remInt[uint64], remInt[int16], remInt[int32], remInt[int64]))
	}
	return nil
}

// multiply compiles mul and mad on integers.
func (c *compiler) multiply(o *op, t ptx.Type) {
	part := c.take("lo", "hi", "wide")
	mad := c.in.Op == "mad"
	sum := t // type of the result and of mad's addend
	switch {
	case part == "lo" && mad:
		o.affine = affineMad.modulo(t)
		o.alu = byWidth[alu](t, madLo[uint16], madLo[uint32], madLo[uint64])
	case part == "lo":
		o.affine = affineMad.modulo(t)
		o.alu = byWidth[alu](t, mulLo[uint16], mulLo[uint32], mulLo[uint64])
	case part == "hi" && mad && t == s32 && c.has("sat"):
		o.alu = lift3(func(a, b, c uint64) uint64 {
			return clampS32(int64(int32(mulHi[int32, int64](a, b))) + int64(int32(c)))
		})
	case part == "hi":
		o.alu = mulHigh(t, mad)
	case part == "wide" && mad:
		sum.Bits *= 2
		o.affine = affineMadWide.extending(sum, t)
		o.alu = bySign[alu](t, madWide[uint16, uint32], madWide[uint32, uint64], nil, madWide[int16, int32],
			madWide[int32, int64], nil)
	case part == "wide":
		sum.Bits *= 2
		o.affine = affineMadWide.extending(sum, t)
		o.alu = bySign[alu](t, mulWide[uint16, uint32], mulWide[uint32, uint64], nil, mulWide[int16, int32],
			mulWide[int32, int64], nil)
	}
	switch {
	case o.alu == nil:
	case mad:
		c.dstSrc(o, sum, t, t, sum)
	default:
		c.dstSrc(o, sum, t, t)
	}
}

func mulHigh(t ptx.Type, mad bool) alu {
	hi := bySign(t, mulHi[uint16, uint32], mulHi[uint32, uint64], mulHiU64, mulHi[int16, int32], mulHi[int32, int64],
		mulHiS64)
	if hi == nil || !mad {
		return lift2(hi)
	}
	mask := widthMask(t.Bits)
	return lift3(func(a, b, c uint64) uint64 { return (hi(a, b) + c) & mask })
}
