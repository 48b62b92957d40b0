package approx

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// golden is the CRC-32 of results measured on an H200, as little-endian words.
type golden struct {
	op                   string
	ftz                  bool
	first, stride, count uint32
	sum                  uint32
}

// The results of an H200 at every 8192th of all operands, and at every 61st of the ranges that
// determine the tables.
var goldens = []golden{
	{"cos", true, 0x3f000000, 61, 275037, 0xa66777b2},
	{"cos", true, 0x00000000, 8192, 524288, 0x395227f6},
	{"cos", false, 0x00000000, 8192, 524288, 0x395227f6},
	{"ex2", true, 0x3f000000, 61, 137519, 0x7613ae88},
	{"ex2", true, 0x3f800000, 61, 137519, 0x6136adb2},
	{"ex2", true, 0xbf800000, 61, 137519, 0x914e9e55},
	{"ex2", true, 0x00000000, 8192, 524288, 0x293e6a3b},
	{"ex2", false, 0x00000000, 8192, 524288, 0x9e80c3fd},
	{"lg2", true, 0x3f000000, 61, 137519, 0xa85aadd0},
	{"lg2", true, 0x3f800000, 61, 137519, 0x81713e1a},
	{"lg2", true, 0x40000000, 61, 137519, 0x09a7f78d},
	{"lg2", true, 0x00000000, 8192, 524288, 0xd08d6c94},
	{"lg2", false, 0x00000000, 8192, 524288, 0xcafc6eb8},
	{"rcp", true, 0x3f800000, 61, 137519, 0xc6827cf4},
	{"rcp", true, 0x00000000, 8192, 524288, 0x63e10133},
	{"rcp", false, 0x00000000, 8192, 524288, 0x917992cf},
	{"rsqrt", true, 0x3f800000, 61, 275037, 0xf2d31dd8},
	{"rsqrt", true, 0x00000000, 8192, 524288, 0x4961249d},
	{"rsqrt", false, 0x00000000, 8192, 524288, 0xb4dea436},
	{"sin", true, 0x3e800000, 61, 275037, 0xc8c4168e},
	{"sin", true, 0x3f800000, 61, 275037, 0xa81a9b54},
	{"sin", true, 0x00000000, 8192, 524288, 0xc819d1a7},
	{"sin", false, 0x00000000, 8192, 524288, 0xc819d1a7},
	{"sqrt", true, 0x3f800000, 61, 275037, 0x7385d210},
	{"sqrt", true, 0x00000000, 8192, 524288, 0x9e0a47ad},
	{"sqrt", false, 0x00000000, 8192, 524288, 0x5485db6a},
	{"tanh", false, 0x3e800000, 61, 275037, 0xbf4d737b},
	{"tanh", false, 0x3f800000, 61, 275037, 0x5a7216cb},
	{"tanh", false, 0x00000000, 8192, 524288, 0xa05fca2f},
}

func TestResultsAreThoseOfAnH200(t *testing.T) {
	for _, g := range goldens {
		compute := Named(g.op, g.ftz)
		data := make([]byte, 0, g.count*4)
		for i := range g.count {
			data = binary.LittleEndian.AppendUint32(data, compute(g.first+i*g.stride))
		}
		if sum := crc32.ChecksumIEEE(data); sum != g.sum {
			t.Errorf("%s, .ftz %t, from %#x on: the CRC is %#x, and that of an H200's results %#x",
				g.op, g.ftz, g.first, sum, g.sum)
		}
	}
}

func BenchmarkInstructions(b *testing.B) {
	for _, in := range Instructions {
		b.Run(in.String(), func(b *testing.B) {
			var sum uint32
			for i := range b.N {
				sum += in.Compute(0x3f000000 + uint32(i)*0x9e3779b1>>8)
			}
			if sum == 1 {
				b.Log("used")
			}
		})
	}
}
