package exec

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// evaluate runs one instruction on registers d, a, b, c of the given types, a
// lane for each row of operands, and returns d. It does so in warps with all lanes, too,
// and demands the same.
func evaluate(t testing.TB, inst string, types [4]string, rows [][3]uint64) []uint64 {
	t.Helper()
	out := evaluateRows(t, inst, types, rows)
	whole := slices.Repeat(rows, 32)[:(len(rows)+31)/32*32]
	if diff := cmp.Diff(out, evaluateRows(t, inst, types, whole)[:len(rows)]); diff != "" {
		t.Errorf("%s gives something else (+) when all lanes of a warp execute it:\n%s", inst, diff)
	}
	return out
}

// evaluateRows is evaluate for instructions that know the other lanes.
func evaluateRows(t testing.TB, inst string, types [4]string, rows [][3]uint64) []uint64 {
	t.Helper()
	var text strings.Builder
	text.WriteString(`
.version 8.1
.target sm_89
.address_size 64
.visible .entry run(.param .u64 rows)
{
	.reg .b64 %base, %offset;
	.reg .b32 %lane;
	.reg .pred p, q;
	ld.param.u64 %base, [rows];
	mov.u32 %lane, %tid.x;
	mul.wide.u32 %offset, %lane, 32;
	add.s64 %base, %base, %offset;
`)
	for i, name := range []string{"d", "a", "b", "c"} {
		if types[i] != "" {
			fmt.Fprintf(&text, "\t.reg .%s %s;\n", types[i], name)
		}
		if types[i] != "" && i > 0 {
			fmt.Fprintf(&text, "\tld.global.%s %s, [%%base+%d];\n", types[i], name, 8*i)
		}
	}
	fmt.Fprintf(&text, "\t%s\n\tst.global.%s [%%base], d;\n\tret;\n}\n", inst, types[0])

	var mem memory
	base := mem.allocate(32 * len(rows))
	data := mem.at(base)
	for i, row := range rows {
		for k, v := range row {
			binary.LittleEndian.PutUint64(data[32*i+8*(k+1):], v)
		}
	}
	p := compileText(t, text.String())
	g := launchKernel(t, p, "run", Config{Threads: len(rows), Params: words(base), Memory: &mem})
	if err := finish(t, g); err != nil {
		t.Fatalf("%s: %v", inst, err)
	}
	var out []uint64
	for i := range rows {
		out = append(out, binary.LittleEndian.Uint64(data[32*i:]))
	}
	return out
}

// row is operands a, b, c and the result d.
type row [4]uint64

type instTest struct {
	inst  string
	types string // of d, a, b, c
	rows  []row
}

func (tt instTest) run(t *testing.T) {
	var types [4]string
	copy(types[:], strings.Fields(tt.types))
	var in [][3]uint64
	var want []uint64
	for _, r := range tt.rows {
		in = append(in, [3]uint64{r[0], r[1], r[2]})
		want = append(want, r[3])
	}
	got := evaluate(t, tt.inst, types, in)
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s of %#x, %#x, %#x is %#x, want %#x", tt.inst, in[i][0], in[i][1], in[i][2], got[i], want[i])
		}
	}
}

// neg is -n as a 64-bit register holds it.
func neg(n int64) uint64 { return uint64(-n) }

func TestIntegerInstructions(t *testing.T) {
	for _, tt := range []instTest{
		{"add.s32 d, a, b;", "b32 b32 b32", []row{{1, 2, 0, 3}, {0xffffffff, 1, 0, 0}}},
		{"add.s64 d, a, b;", "b64 b64 b64", []row{{0xffffffff, 1, 0, 0x100000000}}},
		{"add.u16 d, a, b;", "b16 b16 b16", []row{{0xffff, 2, 0, 1}}},
		{
			"add.sat.s32 d, a, b;", "s32 s32 s32",
			[]row{{0x7fffffff, 1, 0, 0x7fffffff}, {0x80000000, 0xffffffff, 0, 0x80000000}},
		},
		{"sub.u32 d, a, b;", "b32 b32 b32", []row{{1, 2, 0, 0xffffffff}}},
		{"sub.sat.s32 d, a, b;", "s32 s32 s32", []row{{0x80000000, 1, 0, 0x80000000}}},
		{"mul.lo.s32 d, a, b;", "b32 b32 b32", []row{{0x10000, 0x10001, 0, 0x10000}, {0xffffffff, 5, 0, 0xfffffffb}}},
		{"mul.hi.u32 d, a, b;", "b32 b32 b32", []row{{0xffffffff, 0xffffffff, 0, 0xfffffffe}}},
		{"mul.hi.s32 d, a, b;", "b32 b32 b32", []row{{0xffffffff, 0xffffffff, 0, 0}, {0xffffffff, 1, 0, 0xffffffff}}},
		{"mul.hi.u64 d, a, b;", "b64 b64 b64", []row{{1 << 63, 6, 0, 3}}},
		{
			"mul.hi.s64 d, a, b;", "b64 b64 b64",
			[]row{{neg(1), 6, 0, neg(1)}, {neg(2), neg(3), 0, 0}, {1 << 63, 1 << 63, 0, 1 << 62}},
		},
		{"mul.wide.u32 d, a, b;", "b64 b32 b32", []row{{0xffffffff, 0xffffffff, 0, 0xfffffffe00000001}}},
		{"mul.wide.s32 d, a, b;", "b64 b32 b32", []row{{0xffffffff, 7, 0, neg(7)}}},
		{"mul.wide.s16 d, a, b;", "b32 b16 b16", []row{{0xffff, 7, 0, 0xfffffff9}}},
		{"mul.wide.u16 d, a, b;", "b32 b16 b16", []row{{0xffff, 0xffff, 0, 0xfffe0001}}},
		{"mad.lo.s32 d, a, b, c;", "b32 b32 b32 b32", []row{{3, 4, 5, 17}, {0xffffffff, 4, 5, 1}}},
		{"mad.hi.u32 d, a, b, c;", "b32 b32 b32 b32", []row{{0x80000000, 6, 5, 8}}},
		{"mad.wide.u32 d, a, b, c;", "b64 b32 b32 b64", []row{{0xffffffff, 2, 3, 0x200000001}}},
		{"mad.wide.s32 d, a, b, c;", "b64 b32 b32 b64", []row{{0xffffffff, 2, 3, 1}}},
		{"div.u32 d, a, b;", "b32 b32 b32", []row{{7, 2, 0, 3}, {7, 0, 0, 0xffffffff}}},
		{"div.s32 d, a, b;", "b32 b32 b32", []row{{0xfffffff9, 2, 0, 0xfffffffd}, {0x80000000, 0xffffffff, 0, 0x80000000}}},
		{"div.s64 d, a, b;", "b64 b64 b64", []row{{neg(7), 2, 0, neg(3)}, {1 << 63, neg(1), 0, 1 << 63}}},
		{"rem.s32 d, a, b;", "b32 b32 b32", []row{{0xfffffff9, 2, 0, 0xffffffff}, {9, 0, 0, 0xffffffff}}},
		{"rem.u64 d, a, b;", "b64 b64 b64", []row{{neg(1), 10, 0, 5}}},
		{"min.s32 d, a, b;", "b32 b32 b32", []row{{0xffffffff, 1, 0, 0xffffffff}}},
		{"min.u32 d, a, b;", "b32 b32 b32", []row{{0xffffffff, 1, 0, 1}}},
		{"max.s64 d, a, b;", "b64 b64 b64", []row{{neg(5), 3, 0, 3}}},
		{"max.s16 d, a, b;", "b16 b16 b16", []row{{0xffff, 0xfffe, 0, 0xffff}}},
		{"neg.s32 d, a;", "b32 b32", []row{{1, 0, 0, 0xffffffff}}},
		{"abs.s32 d, a;", "b32 b32", []row{{0xfffffffb, 0, 0, 5}, {0x80000000, 0, 0, 0x80000000}}},
		{"abs.s64 d, a;", "b64 b64", []row{{neg(9), 0, 0, 9}}},
		{"add.s32 d, a, -3;", "b32 b32", []row{{1, 0, 0, 0xfffffffe}}},
	} {
		t.Run(tt.inst, tt.run)
	}
}

func TestBitInstructions(t *testing.T) {
	for _, tt := range []instTest{
		{"and.b32 d, a, b;", "b32 b32 b32", []row{{0xff00ff00, 0x0ff00ff0, 0, 0x0f000f00}}},
		{"or.b64 d, a, b;", "b64 b64 b64", []row{{1 << 63, 1, 0, 1<<63 | 1}}},
		{"xor.b16 d, a, b;", "b16 b16 b16", []row{{0xffff, 0x0f0f, 0, 0xf0f0}}},
		{"not.b32 d, a;", "b32 b32", []row{{0xf0, 0, 0, 0xffffff0f}}},
		{"not.b64 d, a;", "b64 b64", []row{{0, 0, 0, neg(1)}}},
		{"cnot.b32 d, a;", "b32 b32", []row{{0, 0, 0, 1}, {7, 0, 0, 0}}},
		{"shl.b32 d, a, b;", "b32 b32 b32", []row{{0x80000001, 1, 0, 2}, {1, 32, 0, 0}, {1, 0xffffffff, 0, 0}}},
		{"shl.b64 d, a, b;", "b64 b64 b32", []row{{1, 63, 0, 1 << 63}, {1, 64, 0, 0}}},
		{"shr.u32 d, a, b;", "b32 b32 b32", []row{{0x80000000, 31, 0, 1}, {0x80000000, 32, 0, 0}}},
		{"shr.s32 d, a, b;", "b32 b32 b32", []row{{0x80000000, 31, 0, 0xffffffff}, {0x80000000, 40, 0, 0xffffffff}}},
		{"shr.s64 d, a, b;", "b64 b64 b32", []row{{1 << 63, 60, 0, neg(8)}}},
		{"shr.s16 d, a, b;", "b16 b16 b32", []row{{0x8000, 4, 0, 0xf800}}},
		{"shf.l.wrap.b32 d, a, b, c;", "b32 b32 b32 b32", []row{{0x80000000, 1, 1, 3}, {0x80000000, 1, 33, 3}}},
		{"shf.r.wrap.b32 d, a, b, c;", "b32 b32 b32 b32", []row{{2, 1, 1, 0x80000001}}},
		{"shf.l.clamp.b32 d, a, b, c;", "b32 b32 b32 b32", []row{{0xabcd, 1, 99, 0xabcd}}},
		{"shf.r.clamp.b32 d, a, b, c;", "b32 b32 b32 b32", []row{{2, 0x77, 99, 0x77}}},
		{"popc.b32 d, a;", "b32 b32", []row{{0xf0f0, 0, 0, 8}}},
		{"popc.b64 d, a;", "b32 b64", []row{{neg(1), 0, 0, 64}}},
		{"clz.b32 d, a;", "b32 b32", []row{{0, 0, 0, 32}, {1, 0, 0, 31}}},
		{"clz.b64 d, a;", "b32 b64", []row{{1, 0, 0, 63}}},
		{"brev.b32 d, a;", "b32 b32", []row{{1, 0, 0, 0x80000000}}},
		{"brev.b64 d, a;", "b64 b64", []row{{1, 0, 0, 1 << 63}}},
		{"bfind.u32 d, a;", "b32 b32", []row{{0, 0, 0, 0xffffffff}, {0x100, 0, 0, 8}}},
		{"bfind.s32 d, a;", "b32 b32", []row{{0xffffffff, 0, 0, 0xffffffff}, {0xfffffff0, 0, 0, 3}}},
		{"bfind.shiftamt.u32 d, a;", "b32 b32", []row{{0x100, 0, 0, 23}}},
		{
			"bfe.u32 d, a, b, c;", "b32 b32 b32 b32",
			[]row{{0x12345678, 8, 8, 0x56}, {0xf0000000, 28, 8, 0xf}, {1, 0, 0, 0}, {5, 40, 4, 0}},
		},
		{
			"bfe.s32 d, a, b, c;", "b32 b32 b32 b32",
			[]row{{0x0000f000, 12, 4, 0xffffffff}, {0x80000000, 28, 8, 0xfffffff8}, {0x7000, 12, 4, 7}},
		},
		{"bfe.s64 d, a, b, c;", "b64 b64 b32 b32", []row{{0x8000, 15, 1, neg(1)}}},
		{"bfi.b32 d, a, b, 8, 8;", "b32 b32 b32", []row{{0x1ab, 0x12345678, 0, 0x1234ab78}}},
		{"bfi.b64 d, a, b, 60, 8;", "b64 b64 b64", []row{{0xff, 1, 0, 0xf000000000000001}}},
		{"prmt.b32 d, a, b, c;", "b32 b32 b32 b32", []row{
			{0x33221100, 0x77665544, 0x7531, 0x77553311},
			{0x33221180, 0x77665544, 0x0008, 0x808080ff},
			{0x00000070, 0, 0x0008, 0x70707000},
		}},
		{"prmt.b32.f4e d, a, b, c;", "b32 b32 b32 b32", []row{{0x33221100, 0x77665544, 1, 0x44332211}}},
		{"prmt.b32.b4e d, a, b, c;", "b32 b32 b32 b32", []row{{0x33221100, 0x77665544, 1, 0x66770011}}},
		{"prmt.b32.rc16 d, a, b, c;", "b32 b32 b32 b32", []row{{0x33221100, 0x77665544, 1, 0x33223322}}},
		{"lop3.b32 d, a, b, c, 0x96;", "b32 b32 b32 b32", []row{{0xff, 0xf0, 0x3c, 0xff ^ 0xf0 ^ 0x3c}}},
		{"lop3.b32 d, a, b, c, 0xca;", "b32 b32 b32 b32", []row{{0xff00ff00, 0x12345678, 0x9abcdef0, 0x12bc56f0}}},
		{"mov.b32 d, a;", "b32 b32", []row{{7, 0, 0, 7}}},
		{"mov.b64 d, {a, b};", "b64 b32 b32", []row{{1, 2, 0, 0x200000001}}},
		{"{ .reg .b32 lo; mov.b64 {lo, d}, a; }", "b32 b64", []row{{0x200000001, 0, 0, 2}}},
		{"{ .reg .b32 hi; mov.b64 {d, hi}, a; }", "b32 b64", []row{{0x200000001, 0, 0, 1}}},
		{"mov.b32 d, {a, b};", "b32 b16 b16", []row{{0x1234, 0xabcd, 0, 0xabcd1234}}},
		{"mov.b64 {d, _}, a;", "b32 b64", []row{{0x200000001, 0, 0, 1}}},
	} {
		t.Run(tt.inst, tt.run)
	}
}

func TestComparisons(t *testing.T) {
	const nan, inf = 0x7fc00000, 0x7f800000
	for _, tt := range []instTest{
		{
			"setp.lt.s32 p, a, b; selp.b32 d, 1, 0, p;", "b32 b32 b32", []row{{0xffffffff, 0, 0, 1}, {0, 0, 0, 0}, {1, 0, 0, 0}},
		},
		{"setp.lt.u32 p, a, b; selp.b32 d, 1, 0, p;", "b32 b32 b32", []row{{0xffffffff, 0, 0, 0}, {0, 1, 0, 1}}},
		{"setp.lo.u32 p, a, b; selp.b32 d, 1, 0, p;", "b32 b32 b32", []row{{0, 1, 0, 1}}},
		{"setp.le.s64 p, a, b; selp.b32 d, 1, 0, p;", "b32 b64 b64", []row{{neg(1), 0, 0, 1}, {0, 0, 0, 1}, {1, 0, 0, 0}}},
		{
			"setp.ge.s32 p, a, b; selp.b32 d, 1, 0, p;", "b32 b32 b32", []row{{0xffffffff, 0, 0, 0}, {0, 0, 0, 1}, {1, 0, 0, 1}},
		},
		{"setp.gt.u64 p, a, b; selp.b32 d, 1, 0, p;", "b32 b64 b64", []row{{neg(1), 0, 0, 1}, {0, 0, 0, 0}}},
		{"setp.eq.b16 p, a, b; selp.b32 d, 1, 0, p;", "b32 b16 b16", []row{{5, 5, 0, 1}, {5, 6, 0, 0}}},
		{"setp.ne.b32 p, a, b; selp.b32 d, 1, 0, p;", "b32 b32 b32", []row{{5, 5, 0, 0}, {5, 6, 0, 1}}},
		{
			"setp.lt.f32 p, a, b; selp.b32 d, 1, 0, p;", "b32 f32 f32",
			[]row{{nan, 0, 0, 0}, {0x80000000, 0, 0, 0}, {0, inf, 0, 1}},
		},
		{"setp.ltu.f32 p, a, b; selp.b32 d, 1, 0, p;", "b32 f32 f32", []row{{nan, 0, 0, 1}, {0, 0, 0, 0}}},
		{"setp.neu.f32 p, a, b; selp.b32 d, 1, 0, p;", "b32 f32 f32", []row{{nan, nan, 0, 1}, {0, 0x80000000, 0, 0}}},
		{"setp.ne.f32 p, a, b; selp.b32 d, 1, 0, p;", "b32 f32 f32", []row{{nan, nan, 0, 0}}},
		{"setp.num.f32 p, a, b; selp.b32 d, 1, 0, p;", "b32 f32 f32", []row{{nan, 0, 0, 0}, {0, 0, 0, 1}}},
		{"setp.nan.f64 p, a, b; selp.b32 d, 1, 0, p;", "b32 f64 f64", []row{{0x7ff8 << 48, 0, 0, 1}, {0, 0, 0, 0}}},
		{"setp.gt.ftz.f32 p, a, b; selp.b32 d, 1, 0, p;", "b32 f32 f32", []row{{1, 0, 0, 0}}},
		{"setp.lt.f16 p, a, b; selp.b32 d, 1, 0, p;", "b32 b16 b16", []row{{0x3c00, 0x4000, 0, 1}}},
		{"setp.lt.s32 p|q, a, b; selp.b32 d, 1, 0, q;", "b32 b32 b32", []row{{0, 1, 0, 0}, {1, 0, 0, 1}}},
		{
			"setp.ne.s32 q, c, 0; setp.lt.and.s32 p, a, b, !q; selp.b32 d, 1, 0, p;", "b32 b32 b32 b32",
			[]row{{0, 1, 0, 1}, {0, 1, 1, 0}, {1, 0, 0, 0}},
		},
		{
			"setp.ne.s32 q, c, 0; setp.lt.xor.s32 p, a, b, q; selp.b32 d, 1, 0, p;", "b32 b32 b32 b32",
			[]row{{0, 1, 0, 1}, {0, 1, 1, 0}, {1, 0, 1, 1}},
		},
		{"set.lt.u32.s32 d, a, b;", "b32 b32 b32", []row{{0xffffffff, 0, 0, 0xffffffff}, {0, 0, 0, 0}}},
		{"set.lt.f32.s32 d, a, b;", "b32 b32 b32", []row{{0xffffffff, 0, 0, 0x3f800000}}},
		{"slct.b32.s32 d, a, b, c;", "b32 b32 b32 b32", []row{{1, 2, 0, 1}, {1, 2, 0x80000000, 2}}},
		{
			"setp.ne.s32 p, a, 0; not.pred q, p; and.pred p, p, q; selp.b32 d, 1, 0, p;", "b32 b32",
			[]row{{0, 0, 0, 0}, {1, 0, 0, 0}},
		},
		{"mov.pred p, -1; selp.b32 d, a, b, p;", "b32 b32 b32", []row{{4, 5, 0, 4}}},
		{"setp.ne.s32 p, a, 0; mov.b32 d, 7; @!p add.s32 d, d, 1;", "b32 b32", []row{{0, 0, 0, 8}, {1, 0, 0, 7}}},
	} {
		t.Run(tt.inst, tt.run)
	}
}

func TestLanesKnowTheirPlace(t *testing.T) {
	for inst, want := range map[string][]uint64{
		"mov.u32 d, %laneid;":      {0, 1, 2, 3},
		"mov.u32 d, %tid.x;":       {0, 1, 2, 3},
		"mov.u32 d, %tid.y;":       {0, 0, 0, 0},
		"mov.u32 d, %ntid.x;":      {4, 4, 4, 4},
		"mov.u32 d, %ntid.z;":      {1, 1, 1, 1},
		"mov.u32 d, %lanemask_lt;": {0, 1, 3, 7},
		"mov.u32 d, %lanemask_ge;": {0xffffffff, 0xfffffffe, 0xfffffffc, 0xfffffff8},
		"activemask.b32 d;":        {15, 15, 15, 15},
		"mov.u32 d, WARP_SZ;":      {32, 32, 32, 32},
	} {
		got := evaluateRows(t, inst, [4]string{"b32"}, make([][3]uint64, 4))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", inst, diff)
		}
	}
}

func TestWarpExchanges(t *testing.T) {
	four := [][3]uint64{{10}, {11}, {12}, {13}}
	for inst, want := range map[string][]uint64{
		"shfl.sync.idx.b32 d, a, 2, 31, 15;":                                       {12, 12, 12, 12},
		"shfl.sync.up.b32 d, a, 1, 0, 15;":                                         {10, 10, 11, 12},
		"shfl.sync.down.b32 d|p, a, 1, 3, 15; selp.b32 d, d, 99, p;":               {11, 12, 13, 99},
		"shfl.sync.bfly.b32 d, a, 1, 31, 15;":                                      {11, 10, 13, 12},
		"shfl.sync.bfly.b32 d, a, 1, 0x1e1f, 15;":                                  {11, 10, 13, 12},
		"shfl.sync.idx.b32 d, a, 1, 0x1e1f, 15;":                                   {11, 11, 13, 13},
		"setp.gt.u32 p, a, 11; vote.sync.ballot.b32 d, p, 15;":                     {12, 12, 12, 12},
		"setp.gt.u32 p, a, 11; vote.sync.any.pred q, p, 15; selp.b32 d, 1, 0, q;":  {1, 1, 1, 1},
		"setp.gt.u32 p, a, 11; vote.sync.all.pred q, !p, 15; selp.b32 d, 1, 0, q;": {0, 0, 0, 0},
		"setp.gt.u32 p, a, 99; vote.sync.uni.pred q, p, 15; selp.b32 d, 1, 0, q;":  {1, 1, 1, 1},
		"redux.sync.add.u32 d, a, 15;":                                             {46, 46, 46, 46},
		"redux.sync.max.s32 d, a, 15;":                                             {13, 13, 13, 13},
		"and.b32 a, a, 1; match.any.sync.b32 d, a, 15;":                            {5, 10, 5, 10},
		"match.all.sync.b32 d|p, a, 15; selp.b32 d, 1, d, p;":                      {0, 0, 0, 0},
	} {
		got := evaluateRows(t, inst, [4]string{"b32", "b32"}, four)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", inst, diff)
		}
	}
}
