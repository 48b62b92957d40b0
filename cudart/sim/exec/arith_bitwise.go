package exec

import (
	"math/bits"

	"gpurun/cudart/sim/ptx"
)

func andBits(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func orBits(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xorBits(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func notBits[T unsigned](d, a, _, _ *lanes) {
	for i := range d {
		d[i] = uint64(^T(a[i]))
	}
}

// shlBits and shrBits take a 32-bit count; a count of the width or more shifts
// everything out, as it does in Go.
func shlBits[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) << uint32(b[i]))
	}
}

func shrBits[T integer](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = zext(T(a[i]) >> uint32(b[i]))
	}
}

// shlBy shifts by a literal. A count of the width or more is left to shlBits.
func shlBy[T unsigned](n uint64) alu {
	return func(d, a, _, _ *lanes) {
		for at := 0; at < lanesBytes; at += quadBytes {
			x, z := quadAt(a, at), quadAt(d, at)
			z[0], z[1] = uint64(T(x[0])<<(n&63)), uint64(T(x[1])<<(n&63))
			z[2], z[3] = uint64(T(x[2])<<(n&63)), uint64(T(x[3])<<(n&63))
		}
	}
}

func cnot(a uint64) uint64 {
	if a == 0 {
		return 1
	}
	return 0
}

func popc(a uint64) uint64 { return uint64(bits.OnesCount64(a)) }

func clz32(a uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) }
func clz64(a uint64) uint64 { return uint64(bits.LeadingZeros64(a)) }

func brev32(a uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }
func brev64(a uint64) uint64 { return bits.Reverse64(a) }

// bfind is the position of the highest bit that differs from the sign, or all
// ones; with shiftamt, the shift that brings that bit to the top.
func bfind[T integer](width int, shiftamt bool) func(a uint64) uint64 {
	return func(a uint64) uint64 {
		x := T(a)
		if x < 0 {
			x = ^x
		}
		pos := bits.Len64(zext(x)) - 1
		switch {
		case pos < 0:
			return 0xffffffff
		case shiftamt:
			return uint64(width - 1 - pos)
		}
		return uint64(pos)
	}
}

// bfe extracts c bits from position b, repeating the field's sign where T is
// signed. Position and length are bytes.
func bfe[T integer](width uint64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		pos, length := b&0xff, c&0xff
		if length == 0 {
			return 0
		}
		x := T(a)
		sign := zext(x) >> min(pos+length-1, width-1) & 1
		field := zext(x >> pos)
		if length >= width {
			return field
		}
		field &= 1<<length - 1
		if sign != 0 && ^T(0) < 0 {
			field |= widthMask(int(width)) &^ (1<<length - 1)
		}
		return field
	}
}

// bfi inserts the low bits of a into b.
func bfi(width int) func(a, b, pos, length uint64) uint64 {
	return func(a, b, pos, length uint64) uint64 {
		field := (widthMask(int(min(length&0xff, 64))) << (pos & 0xff)) & widthMask(width)
		return b&^field | a<<(pos&0xff)&field
	}
}

// funnelLeft and funnelRight shift the 64 bits hi:lo and keep the upper or
// lower word.
func funnelLeft(lo, hi, n uint64) uint64  { return uint64(uint32((hi<<32 | lo) << n >> 32)) }
func funnelRight(lo, hi, n uint64) uint64 { return uint64(uint32((hi<<32 | lo) >> n)) }

// prmt picks four bytes of b:a. The selector's nibbles name a byte, and their
// top bit asks for its sign instead.
func prmt(a, b, sel uint64) uint64 {
	pool, out := a|b<<32, uint64(0)
	for i := range 4 {
		nibble := sel >> (4 * i)
		picked := pool >> (8 * (nibble & 7)) & 0xff
		if nibble&8 != 0 {
			picked = uint64(uint8(int8(picked) >> 7))
		}
		out |= picked << (8 * i)
	}
	return out
}

// prmtSelector computes the selector of prmt's special modes from the low two
// bits of its third operand.
var prmtSelector = map[string][4]uint64{
	"f4e":  {0x3210, 0x4321, 0x5432, 0x6543},
	"b4e":  {0x5670, 0x6701, 0x7012, 0x0123},
	"rc8":  {0x0000, 0x1111, 0x2222, 0x3333},
	"ecl":  {0x3210, 0x3211, 0x3222, 0x3333},
	"ecr":  {0x0000, 0x1110, 0x2210, 0x3210},
	"rc16": {0x1010, 0x3232, 0x1010, 0x3232},
}

// lop3 computes any function of three bits; bit 4a+2b+c of the table holds
// the answer.
func lop3(table uint64) func(a, b, c uint64) uint64 {
	return func(a, b, c uint64) uint64 {
		out := uint64(0)
		for i := range uint64(8) {
			if table>>i&1 == 0 {
				continue
			}
			term := uint64(0xffffffff)
			for k, x := range [3]uint64{a, b, c} {
				if i>>(2-k)&1 == 0 {
					x = ^x
				}
				term &= x
			}
			out |= term
		}
		return out
	}
}

// shift compiles shl and shr.
func (c *compiler) shift(o *op) {
	t := c.takeType()
	if c.in.Op == "shl" {
		o.alu, o.affine = byWidth[alu](t, shlBits[uint16], shlBits[uint32], shlBits[uint64]), affineShl.modulo(t)
		if n := c.arg(2); n.Kind == ptx.Immediate && n.Bits < uint64(t.Bits) {
			o.alu = byWidth(t, shlBy[uint16](n.Bits), shlBy[uint32](n.Bits), shlBy[uint64](n.Bits))
		}
	} else {
		o.alu = bySign[alu](t, shrBits[uint16], shrBits[uint32], shrBits[uint64], shrBits[int16], shrBits[int32],
			shrBits[int64])
	}
	c.dst(&o.d, 0, t)
	c.src(&o.a, 1, t)
	c.src(&o.b, 2, u32)
}
