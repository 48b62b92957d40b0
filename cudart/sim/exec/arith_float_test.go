package exec

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// interesting singles: zeros, subnormals, halfway cases, infinities, NaNs.
var singles = []uint32{
	0, 1, 2, 0x007fffff, 0x00800000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0x40490fdb, 0x4b800000, 0x4b7fffff,
	0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7f800001, 0x33800000, 0x33000000, 0x38800000, 0x387fe000, 0x477fe000, 0x477ff000,
	0x0d800000, 0x3f801000, 0x3f803000, 0x3f808000, 0x3f818000,
}

func randomSingle(r *rand.Rand) uint32 {
	switch r.IntN(4) {
	case 0:
		return singles[r.IntN(len(singles))] ^ r.Uint32()&0x80000000
	case 1: // near one, where sums cancel
		return 0x3f800000 + r.Uint32N(64) - 32 ^ r.Uint32()&0x80000000
	case 2: // products reach the subnormals
		return r.Uint32()&0x807fffff | (30+r.Uint32N(40))<<23
	}
	return r.Uint32()
}

// exactFMA rounds a*b+c once, by arithmetic with unlimited precision.
func exactFMA(a, b, c float32) float32 {
	if special := a * b; special != special || math.IsInf(float64(special), 0) &&
		(math.IsInf(float64(a), 0) || math.IsInf(float64(b), 0)) {
		return special + c
	}
	if math.IsInf(float64(c), 0) || c != c {
		return c
	}
	wide := func(x float32) *big.Float { return new(big.Float).SetPrec(1000).SetFloat64(float64(x)) }
	sum := new(big.Float).SetPrec(1000).Add(new(big.Float).SetPrec(1000).Mul(wide(a), wide(b)), wide(c))
	if sum.Sign() == 0 { // the sign of zero follows IEEE 754, not math/big
		return float32(float64(a)*float64(b) + float64(c))
	}
	out, _ := sum.Float32()
	return out
}

func canonical(x float32) uint64 {
	if x != x {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(x))
}

func TestFloat32AgainstUnlimitedPrecision(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var rows [][3]uint64
		for range 32 {
			rows = append(rows, [3]uint64{uint64(randomSingle(r)), uint64(randomSingle(r)), uint64(randomSingle(r))})
		}
		got := evaluate(t, "fma.rn.f32 d, a, b, c;", [4]string{"f32", "f32", "f32", "f32"}, rows)
		for i, row := range rows {
			a, b, c := math.Float32frombits(uint32(row[0])), math.Float32frombits(uint32(row[1])),
				math.Float32frombits(uint32(row[2]))
			if want := canonical(exactFMA(a, b, c)); got[i] != want {
				t.Fatalf("fma of %#x, %#x, %#x is %#x, want %#x", row[0], row[1], row[2], got[i], want)
			}
		}
	}
}

func TestFloatInstructions(t *testing.T) {
	const (
		one, two, three = 0x3f800000, 0x40000000, 0x40400000
		inf, nan, snan  = 0x7f800000, 0x7fc12345, 0x7f800001
		minus           = 0x80000000
	)
	for _, tt := range []instTest{
		{
			"add.f32 d, a, b;", "f32 f32 f32",
			[]row{
				{one, two, 0, three},
				{inf, inf | minus, 0, 0x7fffffff},
				{nan, one, 0, 0x7fffffff},
				{one, nan | minus, 0, 0x7fffffff},
				{minus, minus, 0, minus},
				{one, one | minus, 0, 0},
				{1, 1, 0, 2},
			},
		},
		{"add.rn.ftz.f32 d, a, b;", "f32 f32 f32", []row{{1, 1, 0, 0}, {0x00800001, 0x80800000, 0, 0}}},
		{"add.sat.f32 d, a, b;", "f32 f32 f32", []row{{one, two, 0, one}, {one, two | minus, 0, 0}, {nan, one, 0, 0}}},
		{"sub.f32 d, a, b;", "f32 f32 f32", []row{{three, two, 0, one}}},
		{
			"mul.f32 d, a, b;", "f32 f32 f32",
			[]row{{two, two, 0, 0x40800000}, {0, inf, 0, 0x7fffffff}, {0x00800000, 0x3f000000, 0, 0x00400000}},
		},
		{"mul.ftz.f32 d, a, b;", "f32 f32 f32", []row{{0x00800000, 0x3f000000, 0, 0}, {0x80800000, 0x3f000000, 0, minus}}},
		// The products lie halfway between two singles; the addend, lost in a
		// double, decides.
		{"fma.rn.f32 d, a, b, c;", "f32 f32 f32 f32", []row{
			{0x3f800800, 0x3f800800, 0, 0x3f801000},
			{0x3f800800, 0x3f800800, 0x17800000, 0x3f801001},
			{0x3f800800, 0x3f800800, 0x97800000, 0x3f801000},
			{0x3f801800, 0x3f800800, 0, 0x3f802002},
			{0x3f801800, 0x3f800800, 0x97800000, 0x3f802001},
			{0xbf801800, 0x3f800800, 0x17800000, 0xbf802001},
		}},
		{"div.rn.f32 d, a, b;", "f32 f32 f32", []row{{one, three, 0, 0x3eaaaaab}, {one, 0, 0, inf}, {0, 0, 0, 0x7fffffff}}},
		{"rcp.rn.f32 d, a;", "f32 f32", []row{{three, 0, 0, 0x3eaaaaab}, {minus, 0, 0, inf | minus}}},
		{
			"sqrt.rn.f32 d, a;", "f32 f32",
			[]row{{two, 0, 0, 0x3fb504f3}, {one | minus, 0, 0, 0x7fffffff}, {minus, 0, 0, minus}},
		},
		{
			"min.f32 d, a, b;", "f32 f32 f32",
			[]row{
				{one, two, 0, one},
				{nan, two, 0, two},
				{two, snan, 0, two},
				{nan, nan, 0, 0x7fffffff},
				{0, minus, 0, minus},
				{minus, 0, 0, minus},
			},
		},
		{
			"max.f32 d, a, b;", "f32 f32 f32", []row{{one, two, 0, two}, {nan, two, 0, two}, {0, minus, 0, 0}, {minus, 0, 0, 0}},
		},
		{"max.NaN.f32 d, a, b;", "f32 f32 f32", []row{{nan, two, 0, 0x7fffffff}, {one, two, 0, two}}},
		{"neg.f32 d, a;", "f32 f32", []row{{one, 0, 0, one | minus}, {nan, 0, 0, 0x7fffffff}}},
		{"abs.f32 d, a;", "f32 f32", []row{{one | minus, 0, 0, one}}},
		{"copysign.f32 d, a, b;", "f32 f32 f32", []row{{one | minus, two, 0, two | minus}}},
		{
			"add.f64 d, a, b;", "f64 f64 f64",
			[]row{
				{math.Float64bits(1), math.Float64bits(2), 0, math.Float64bits(3)},
				{0x7ff0 << 48, 0xfff0 << 48, 0, 0xfff8 << 48},
				{0x7ff0000000000001, 0, 0, 0x7ff8000000000001},
				{0x7ff0000000000001, 0xfff8123456789abc, 0, 0xfff8123456789abc},
			},
		},
		{
			"fma.rn.f64 d, a, b, c;", "f64 f64 f64 f64",
			[]row{
				{
					math.Float64bits(1 + 0x1p-52), math.Float64bits(1 + 0x1p-52), math.Float64bits(-1 - 0x1p-51),
					math.Float64bits(0x1p-104),
				},
			},
		},
		{"div.rn.f64 d, a, b;", "f64 f64 f64", []row{{math.Float64bits(1), math.Float64bits(3), 0, 0x3fd5555555555555}}},
		{"add.f32 d, a, 0f3F800000;", "f32 f32", []row{{two, 0, 0, three}}},
		{
			"add.f16 d, a, b;", "b16 b16 b16",
			[]row{
				{0x3c00, 0x4000, 0, 0x4200},
				{0x7bff, 0x7bff, 0, 0x7c00},
				{0x7c00, 0xfc00, 0, 0x7fff},
				{1, 1, 0, 2},
				{0x6800, 0x3c00, 0, 0x6800},
				{0x6801, 0x3c00, 0, 0x6802},
			},
		},
		{"mul.f16 d, a, b;", "b16 b16 b16", []row{{0x3c01, 0x3c01, 0, 0x3c02}, {0x0400, 0x3800, 0, 0x0200}}},
		{"fma.rn.f16 d, a, b, c;", "b16 b16 b16 b16", []row{{0x3c01, 0x3c01, 0xbc02, 0x0010}}},
		{"fma.rn.f16x2 d, a, b, c;", "b32 b32 b32 b32", []row{{0x3c003c00, 0x40003c00, 0x3c000000, 0x42003c00}}},
		{"add.f16x2 d, a, b;", "b32 b32 b32", []row{{0x3c004000, 0x3c003c00, 0, 0x40004200}}},
		{"min.f16 d, a, b;", "b16 b16 b16", []row{{0x7e00, 0x3c00, 0, 0x3c00}, {0x8000, 0, 0, 0x8000}}},
		{"max.bf16x2 d, a, b;", "b32 b32 b32", []row{{0x3f804000, 0x40003f80, 0, 0x40004000}}},
		{"fma.rn.bf16 d, a, b, c;", "b16 b16 b16 b16", []row{{0x3f81, 0x3f81, 0xbf82, 0x3880}}},
		{"fma.rn.bf16x2 d, a, b, c;", "b32 b32 b32 b32", []row{{0x3f803f80, 0x3f804000, 0x00003f80, 0x3f804040}}},
		{"neg.f16x2 d, a;", "b32 b32", []row{{0x3c00bc00, 0, 0, 0xbc003c00}}},
	} {
		t.Run(tt.inst, tt.run)
	}
}

func TestConversions(t *testing.T) {
	f := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	d := math.Float64bits
	for _, tt := range []instTest{
		{"cvt.u64.u32 d, a;", "b64 b32", []row{{0xffffffff, 0, 0, 0xffffffff}}},
		{"cvt.s64.s32 d, a;", "b64 b32", []row{{0xffffffff, 0, 0, neg(1)}}},
		{"cvt.u32.u64 d, a;", "b32 b64", []row{{0x1ffffffff, 0, 0, 0xffffffff}}},
		{"cvt.s32.s8 d, a;", "b32 b32", []row{{0x80, 0, 0, 0xffffff80}, {0x17f, 0, 0, 0x7f}}},
		{"cvt.s16.s8 d, a;", "b16 b16", []row{{0x80, 0, 0, 0xff80}}},
		{"cvt.u16.u32 d, a;", "b16 b32", []row{{0x12345, 0, 0, 0x2345}}},
		{"cvt.u32.u16 d, a;", "b32 b16", []row{{0xffff, 0, 0, 0xffff}}},
		{"cvt.sat.u8.s32 d, a;", "b32 b32", []row{{300, 0, 0, 255}, {0xffffffff, 0, 0, 0}, {7, 0, 0, 7}}},
		{"cvt.sat.s8.s32 d, a;", "b32 b32", []row{{300, 0, 0, 127}, {0xfffffed4, 0, 0, 0xffffff80}}},
		{"cvt.sat.s32.u32 d, a;", "b32 b32", []row{{0xffffffff, 0, 0, 0x7fffffff}}},
		{
			"cvt.rn.f32.s32 d, a;", "f32 b32",
			[]row{
				{0xffffffff, 0, 0, f(-1)},
				{0x01000001, 0, 0, f(16777216)},
				{0x01000003, 0, 0, f(16777220)},
				{0x80000000, 0, 0, f(-2147483648)},
			},
		},
		{"cvt.rz.f32.u32 d, a;", "f32 b32", []row{{0xffffffff, 0, 0, f(4294967040)}}},
		{"cvt.rp.f32.u32 d, a;", "f32 b32", []row{{0x01000001, 0, 0, f(16777218)}, {0, 0, 0, 0}}},
		{"cvt.rm.f32.s32 d, a;", "f32 b32", []row{{0xfeffffff, 0, 0, f(-16777218)}}},
		{"cvt.rn.f32.u64 d, a;", "f32 b64", []row{{neg(1), 0, 0, f(18446744073709551615)}, {1<<40 + 1, 0, 0, f(1 << 40)}}},
		{"cvt.rn.f64.s64 d, a;", "f64 b64", []row{{neg(3), 0, 0, d(-3)}, {1<<53 + 1, 0, 0, d(1 << 53)}}},
		{
			"cvt.rzi.s32.f32 d, a;", "b32 f32",
			[]row{{f(-1.9), 0, 0, 0xffffffff}, {f(3e9), 0, 0, 0x7fffffff}, {f(-3e9), 0, 0, 0x80000000}, {0x7fc00000, 0, 0, 0}},
		},
		{"cvt.rni.s32.f32 d, a;", "b32 f32", []row{{f(2.5), 0, 0, 2}, {f(3.5), 0, 0, 4}, {f(-0.5), 0, 0, 0}}},
		{"cvt.rpi.s32.f32 d, a;", "b32 f32", []row{{f(2.1), 0, 0, 3}}},
		{"cvt.rmi.s32.f32 d, a;", "b32 f32", []row{{f(-2.1), 0, 0, 0xfffffffd}}},
		{
			"cvt.rzi.u32.f32 d, a;", "b32 f32",
			[]row{{f(-5), 0, 0, 0}, {f(5e9), 0, 0, 0xffffffff}, {f(4294967040), 0, 0, 0xffffff00}},
		},
		{"cvt.rzi.u64.f64 d, a;", "b64 f64", []row{{d(1e19), 0, 0, 10000000000000000000}, {d(1e20), 0, 0, neg(1)}}},
		{
			"cvt.rzi.s64.f64 d, a;", "b64 f64",
			[]row{{d(-1e30), 0, 0, 1 << 63}, {d(1e30), 0, 0, 1<<63 - 1}, {0x7ff8 << 48, 0, 0, 1 << 63}},
		},
		{"cvt.rzi.s8.f32 d, a;", "b32 f32", []row{{f(-200), 0, 0, 0xffffff80}, {f(100), 0, 0, 100}}},
		{"cvt.rni.f32.f32 d, a;", "f32 f32", []row{{f(2.5), 0, 0, f(2)}, {f(-0.2), 0, 0, f(float32(math.Copysign(0, -1)))}}},
		{
			"cvt.rn.f32.f64 d, a;", "f32 f64",
			[]row{
				{d(1 + 0x1p-24), 0, 0, f(1)},
				{d(1 + 0x3p-24), 0, 0, f(1 + 0x1p-22)},
				{d(1e300), 0, 0, 0x7f800000},
				{d(0x1p-149), 0, 0, 1},
				{d(0x1p-150), 0, 0, 0},
				{0xfff8123456789abc, 0, 0, 0xffc091a2},
			},
		},
		{"cvt.rz.f32.f64 d, a;", "f32 f64", []row{{d(1e300), 0, 0, 0x7f7fffff}, {d(0x1.8p-149), 0, 0, 1}}},
		{"cvt.rp.f32.f64 d, a;", "f32 f64", []row{{d(1e-300), 0, 0, 1}, {d(-1e300), 0, 0, 0xff7fffff}}},
		{
			"cvt.f64.f32 d, a;", "f64 f32",
			[]row{{f(1.5), 0, 0, d(1.5)}, {1, 0, 0, d(0x1p-149)}, {0xff800000, 0, 0, 0xfff0 << 48}},
		},
		{"cvt.rz.f16.f32 d, a;", "b16 f32", []row{{f(65535), 0, 0, 0x7bff}, {f(1e9), 0, 0, 0x7bff}}},
		{"cvt.rn.f16.f64 d, a;", "b16 f64", []row{{d(2049), 0, 0, 0x6800}, {d(2051), 0, 0, 0x6802}}},
		{"cvt.rn.f16.s32 d, a;", "b16 b32", []row{{2049, 0, 0, 0x6800}, {0xffffffff, 0, 0, 0xbc00}, {70000, 0, 0, 0x7c00}}},
		{"cvt.rzi.s32.f16 d, a;", "b32 b16", []row{{0xc100, 0, 0, 0xfffffffe}}},
		{
			"cvt.rn.bf16.f32 d, a;", "b16 f32",
			[]row{
				{0x3f808000, 0, 0, 0x3f80},
				{0x3f818000, 0, 0, 0x3f82},
				{0x3f808001, 0, 0, 0x3f81},
				{0x7f7fffff, 0, 0, 0x7f80},
				{0x7f800001, 0, 0, 0x7fff},
				{0xff800000, 0, 0, 0xff80},
			},
		},
		{"cvt.rz.bf16.f32 d, a;", "b16 f32", []row{{0x3f81ffff, 0, 0, 0x3f81}}},
		{"cvt.rn.bf16x2.f32 d, a, b;", "b32 f32 f32", []row{{f(1), f(2), 0, 0x3f804000}}},
		{"cvt.rn.f16x2.f32 d, a, b;", "b32 f32 f32", []row{{f(1), f(2), 0, 0x3c004000}}},
		{"cvt.rz.f16x2.f32 d, a, b;", "b32 f32 f32", []row{{f(1e9), f(2), 0, 0x7bff4000}}},
		{"cvt.f32.bf16 d, a;", "f32 b16", []row{{0x3f80, 0, 0, f(1)}, {0x7f81, 0, 0, 0x7f810000}}},
		{"cvt.sat.f32.f32 d, a;", "f32 f32", []row{{f(7), 0, 0, f(1)}, {f(-7), 0, 0, 0}, {0x7fc00000, 0, 0, 0}}},
		{"cvt.ftz.f32.f32 d, a;", "f32 f32", []row{{1, 0, 0, 0}}},
	} {
		t.Run(tt.inst, tt.run)
	}
}

// Every half must widen, and every single narrow, as an independent library
// says; NaNs are canonical.
func TestHalfConversionsAgainstFloat16(t *testing.T) {
	var rows [][3]uint64
	for h := range 1 << 16 {
		rows = append(rows, [3]uint64{uint64(h)})
	}
	for len(rows) > 0 {
		part := rows[:1024]
		rows = rows[1024:]
		got := evaluate(t, "cvt.f32.f16 d, a;", [4]string{"f32", "b16"}, part)
		for i := range part {
			if want := canonical(float16.Frombits(uint16(part[i][0])).Float32()); got[i] != want {
				t.Fatalf("half %#x widens to %#x, want %#x", part[i][0], got[i], want)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 64 {
		rows := make([][3]uint64, 1024)
		for i := range rows {
			rows[i][0] = uint64(randomSingle(r))
			if i%2 == 0 { // the range of halves
				rows[i][0] = uint64(r.Uint32()&0x807fffff | (100+r.Uint32N(50))<<23)
			}
		}
		got := evaluate(t, "cvt.rn.f16.f32 d, a;", [4]string{"b16", "f32"}, rows)
		for i := range rows {
			x := math.Float32frombits(uint32(rows[i][0]))
			want := uint64(float16.Fromfloat32(x).Bits())
			if x != x {
				want = 0x7fff
			}
			if got[i] != want {
				t.Fatalf("single %#x narrows to %#x, want %#x", rows[i][0], got[i], want)
			}
		}
	}
}
