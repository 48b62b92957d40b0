package exec

import (
	"math"
	"strings"
	"testing"
)

// The numbers are those of the OFP8 specification's tables.
func TestFloat8Conversions(t *testing.T) {
	bits := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	nan, inf := bits(float32(math.NaN())), bits(float32(math.Inf(1)))
	for _, tt := range []instTest{
		{"cvt.rn.satfinite.e4m3x2.f32 d, a, b;", "b16 f32 f32", []row{
			{bits(1), bits(-448), 0, 0x38fe},
			{bits(1e9), inf, 0, 0x7e7e},
			{nan, bits(-0x1p-9), 0, 0x7f81},
			{bits(17), bits(19), 0, 0x585a},
			{bits(0x1p-10), bits(0x1.8p-10), 0, 0x0001},
			{bits(float32(math.Copysign(0, -1))), bits(464), 0, 0x807e},
		}},
		{"cvt.rn.satfinite.e5m2x2.f32 d, a, b;", "b16 f32 f32", []row{
			{bits(1), bits(-57344), 0, 0x3cfb},
			{inf, nan, 0, 0x7b7f},
			{bits(0x1p-16), bits(9), 0, 0x0148},
			{bits(11), bits(-0.25), 0, 0x4ab4},
		}},
		{"cvt.rn.satfinite.e4m3x2.f16x2 d, a;", "b16 b32", []row{{0x3c00c000, 0, 0, 0x38c0}, {0x7c007e00, 0, 0, 0x7e7f}}},
		{"cvt.rn.satfinite.e5m2x2.f16x2 d, a;", "b16 b32", []row{{0x3c00c000, 0, 0, 0x3cc0}, {0x0001fbff, 0, 0, 0x00fb}}},
		{"cvt.rn.f16x2.e4m3x2 d, a;", "b32 b16", []row{{0x38fe, 0, 0, 0x3c00df00}, {0x7f01, 0, 0, 0x7fff1800}}},
		{"cvt.rn.f16x2.e5m2x2 d, a;", "b32 b16", []row{{0x3cfb, 0, 0, 0x3c00fb00}, {0x7c01, 0, 0, 0x7c000100}}},
	} {
		t.Run(strings.Fields(tt.inst)[0], tt.run)
	}
}
