package insttest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
)

// edges are operands by register type: limits, shift counts, zeros, subnormals, infinities, NaNs.
var edges = map[string][]uint64{
	"b16": {
		0, 1, 0x7fff, 0x8000, 0xffff, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x03ff, 0x0400, 0x7bff, 0x3f80, 0x7f80, 0x7f81,
		0x7ff7, 0xfff7,
	},
	"b32": {
		0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xffffffff, 0x3c003c00, 0x7e003c00, 0x80007fff, 0x7fff8000, 0x7f80ff80,
		0x80808080, 0x7f7f7f7f, 0x7ff73c00, 0x3c00fff7,
	},
	"b64": {0, 1, 2, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, 1<<63 - 1, 1 << 63, math.MaxUint64, 0x3f8000007fc00000},
	"f32": {
		0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
		0xffc12345, 0x7f800001,
		0x4f000000, 0x4f800000, 0x3f000000, 0x40200000, 0xff7fffff, 0x477fe000, 0x477ff000, 0x3f801000, 0x43e00000,
		0x43e80000, 0x7e900000, 0xfe800001,
	},
	"f64": {
		0, 1 << 63, 1, 0x3ff0 << 48, 0x7ff0 << 48, 0xfff0 << 48, 0x7ff8 << 48, 0xfff8123456789abc, 0x7ff0000000000001,
		0x41e0 << 48, 0x43e0 << 48, 0x4004 << 48, 0x36a0 << 48, 0x7fefffffffffffff, 0x000fffffffffffff, 0x0010 << 48,
	},
}

// Operand is a random value of a register type, often a special one.
func Operand(r *rand.Rand, typ string) uint64 {
	switch special := edges[typ]; r.IntN(4) {
	case 0:
		return special[r.IntN(len(special))]
	case 1:
		switch typ {
		case "f32": // near one
			return uint64(0x3f800000+r.Uint32N(256)-128) ^ uint64(r.Uint32()&0x80000000)
		case "f64":
			return math.Float64bits((r.Float64() - 0.5) * math.Exp2(float64(r.IntN(140)-70)))
		}
		return r.Uint64N(80)
	case 2:
		switch typ {
		case "f32":
			return uint64(math.Float32bits(float32((r.Float64() - 0.5) * math.Exp2(float64(r.IntN(140)-70)))))
		case "f64": // where sums and products overflow, vanish and cancel
			return r.Uint64()&^(0x7ff<<52) | uint64([]int{0, 1, 2, 511, 512, 1022, 1023, 1024, 1533, 2045, 2046}[r.IntN(11)])<<52
		}
	}
	return r.Uint64() & Mask(typ)
}

// Operands fills memory with n rows of operands for an instruction. A quarter of them are tinyOperands, if the
// instruction has such.
func Operands(r *rand.Rand, row Row, n int) []byte {
	types := strings.Fields(row.Types)
	data := make([]byte, n*RowBytes)
	for i := range n {
		at := data[i*RowBytes:]
		binary.LittleEndian.PutUint64(at, Sentinel)
		var tiny []uint64
		if r.IntN(4) == 0 {
			tiny = tinyOperands(r, row)
		}
		for k, typ := range types[1:] {
			if k < len(tiny) {
				binary.LittleEndian.PutUint64(at[8*(k+1):], tiny[k])
				continue
			}
			if k > 0 && typ == types[k] && r.IntN(8) == 0 { // equal to the operand before
				copy(at[8*(k+1):8*(k+2)], at[8*k:])
				continue
			}
			binary.LittleEndian.PutUint64(at[8*(k+1):], Operand(r, typ))
		}
	}
	return data
}

// Word reads operand k of row i: 0 is d.
func Word(data []byte, i, k int) uint64 { return binary.LittleEndian.Uint64(data[i*RowBytes+8*k:]) }
