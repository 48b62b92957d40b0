package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/tensorcore"
)

// fragmentBytes is what a lane has of memory in the tests of fragments: words 0
// to 3 are a, 4 and 5 are b, 6 to 9 are c, and 10 to 13 are d.
const fragmentBytes = 64

// fragmentKernel wraps instructions on registers %a, %b, %c, which are loaded, and
// %d, which are stored. %row is the address of the lane's 16 bytes of tile.
func fragmentKernel(body string) string {
	return `
.version 8.0
.target sm_90a
.address_size 64
.visible .entry run(.param .u64 lanes)
{
	.reg .b64 %at;
	.reg .b32 %tid, %row, %a<4>, %b<2>, %c<4>, %d<4>;
	.reg .pred p;
	.shared .align 16 .b8 tile[1024];
	ld.param.u64 %at, [lanes];
	mov.u32 %tid, %tid.x;
	mad.wide.u32 %at, %tid, 64, %at;
	mov.u32 %row, tile;
	mad.lo.u32 %row, %tid, 16, %row;
	ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%at];
	ld.global.v2.b32 {%b0, %b1}, [%at+16];
	ld.global.v2.b32 {%c0, %c1}, [%at+24];
	ld.global.v2.b32 {%c2, %c3}, [%at+32];
	mov.b32 %d0, -1; mov.b32 %d1, -1; mov.b32 %d2, -1; mov.b32 %d3, -1;
	` + body + `
	st.global.v2.b32 [%at+40], {%d0, %d1};
	st.global.v2.b32 [%at+48], {%d2, %d3};
	ret;
}
`
}

// runFragments runs a body on fragments and returns d of each lane.
func runFragments(t *testing.T, model tensorcore.Model, body string, in [32][10]uint32) (d [32][4]uint32, err error) {
	t.Helper()
	return disturbFragments(t, model, nil, body, in)
}

// disturbFragments does so in disorder.
func disturbFragments(t *testing.T, model tensorcore.Model, disorder *rand.Rand, body string,
	in [32][10]uint32,
) (d [32][4]uint32, err error) {
	t.Helper()
	var mem memory
	base := mem.allocate(32 * fragmentBytes)
	for lane := range in {
		for i, v := range in[lane] {
			binary.LittleEndian.PutUint32(mem.at(base)[fragmentBytes*lane+4*i:], v)
		}
	}
	k, _ := compileText(t, fragmentKernel(body)).Kernel("run")
	g, err := Launch(k, Config{
		Blocks: 1, Threads: 32, Params: words(base), Memory: &mem, SMs: 1, Clock: &ticks{}, TensorCores: model,
		Disorder: disorder,
	})
	if err != nil {
		t.Fatal(err)
	}
	err = finish(t, g)
	for lane := range d {
		for i := range d[lane] {
			d[lane][i] = binary.LittleEndian.Uint32(mem.at(base)[fragmentBytes*lane+4*(10+i):])
		}
	}
	return d, err
}

// sixteenBits is a small integer as an element.
func sixteenBits(typ string, x int) uint32 {
	if typ == "bf16" {
		return math.Float32bits(float32(x)) >> 16
	}
	return uint32(binary16.encode(float64(x), toNearestEven))
}

// The places of elements, as the figures of the PTX ISA draw them: the thread,
// and which of its elements.
func placeOfA(row, k int) (lane, element int) {
	return row%8*4 + k%8/2, k%2 + row/8*2 + k/8*4
}

func placeOfB(k, column int) (lane, element int) { return column*4 + k%8/2, k%2 + k/8*2 }

func placeOfC(row, column int) (lane, element int) { return row%8*4 + column/2, column%2 + row/8*2 }

func mmaText(typ string, k int) string {
	if k == 8 {
		return fmt.Sprintf("mma.sync.aligned.m16n8k8.row.col.f32.%s.%s.f32 {%%d0, %%d1, %%d2, %%d3}, {%%a0, %%a1}, {%%b0}, "+
			"{%%c0, %%c1, %%c2, %%c3};", typ, typ)
	}
	return fmt.Sprintf("mma.sync.aligned.m16n8k16.row.col.f32.%s.%s.f32 {%%d0, %%d1, %%d2, %%d3}, {%%a0, %%a1, %%a2, "+
		"%%a3}, {%%b0, %%b1}, {%%c0, %%c1, %%c2, %%c3};", typ, typ)
}

func TestMMAOfIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range []string{"f16", "bf16"} {
		for _, k := range []int{8, 16} {
			var a [16][16]int
			var b [16][8]int
			var c [16][8]int
			var in [32][10]uint32
			put := func(first, lane, element, x int) {
				in[lane][first+element/2] |= sixteenBits(typ, x) << (16 * (element % 2))
			}
			for i := range k {
				for row := range 16 {
					a[row][i] = r.IntN(201) - 100
					lane, element := placeOfA(row, i)
					put(0, lane, element, a[row][i])
				}
				for column := range 8 {
					b[i][column] = r.IntN(201) - 100
					lane, element := placeOfB(i, column)
					put(4, lane, element, b[i][column])
				}
			}
			for i := range 16 * 8 {
				row, column := i/8, i%8
				c[row][column] = r.IntN(2001) - 1000
				lane, element := placeOfC(row, column)
				in[lane][6+element] = math.Float32bits(float32(c[row][column]))
			}
			d, err := runFragments(t, tensorcore.Of(8), mmaText(typ, k), in)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 16 * 8 {
				row, column := i/8, i%8
				want := c[row][column]
				for j := range k {
					want += a[row][j] * b[j][column]
				}
				lane, element := placeOfC(row, column)
				if got := math.Float32frombits(d[lane][element]); got != float32(want) {
					t.Fatalf("%s, k = %d: row %d, column %d is %v, want %d", typ, k, row, column, got, want)
				}
			}
		}
	}
}

// A GPU's own arithmetic is used: eight times 2^-25 added to 1 is two ulps, where that
// many bits are kept.
func TestMMAKeepsTheBitsOfItsGPU(t *testing.T) {
	var in [32][10]uint32
	for lane := range in {
		in[lane] = [10]uint32{
			0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3300, 0x3300, 0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000,
		}
	}
	for major, want := range map[int]uint32{8: 0x3f800000, 9: 0x3f800002} {
		d, err := runFragments(t, tensorcore.Of(major), mmaText("bf16", 16), in)
		if err != nil || d[5][2] != want {
			t.Errorf("compute capability %d: %#x, %v, want %#x", major, d[5][2], err, want)
		}
	}
}

// Lanes that come by different ways wait for each other.
func TestMatrixInstructionsConverge(t *testing.T) {
	var in [32][10]uint32
	for lane := range in {
		in[lane][0] = uint32(lane)
	}
	body := `
		setp.lt.u32 p, %tid, 7;
		@p bra late;
		bra join;
	late:
		add.u32 %a0, %a0, 100;
		add.u32 %a0, %a0, 100;
	join:
		movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;
	`
	d, err := runFragments(t, tensorcore.Of(9), body, in)
	if err != nil {
		t.Fatal(err)
	}
	if want := uint32(200 | 204<<16); d[0][0] != want { // elements of lanes 0 and 4
		t.Errorf("lane 0 has %#x, want %#x", d[0][0], want)
	}
	for body, want := range map[string]string{
		"setp.eq.u32 p, %tid, 3; @p ret; movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;":        "all 32 lanes",
		"setp.ne.u32 p, %tid, 3; @p movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0; bar.sync 0;": "deadlock",
	} {
		_, err := runFragments(t, tensorcore.Of(9), body, in)
		var fault *Fault
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a fault about %q", body, err, want)
		}
	}
}

func TestMatrixRefusals(t *testing.T) {
	const d, a, b, c = "{%d0, %d1, %d2, %d3}", "{%a0, %a1, %a2, %a3}", "{%b0, %b1}", "{%c0, %c1, %c2, %c3}"
	for body, want := range map[string]string{
		"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f32 {%d0, %d1}, " + a + ", " + b + ", " + c +
			";": "added to .f32",
		"mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {%d0, %d1}, " + a + ", " + b +
			", {%c0, %c1};": "no .f16 of .bf16",
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 " + d + ", " + a + ", " + b + ", " + c +
			";": "no .f32 of .f16 and .bf16",
		"mma.sync.aligned.m16n8k16.row.col.s32.s8.s4.s32 " + d + ", " + b + ", {%b0}, " + c +
			";": "no .s32 of .s8 and .s4",
		"mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 " + d + ", " + a + ", " + b + ", " + c +
			";": "has shapes [m16n8k4 m16n8k8]",
		"mma.sync.aligned.m16n8k16.col.col.f32.f16.f16.f32 " + d + ", " + a + ", " + b + ", " + c +
			";": ".row.col",
		"mma.sync.aligned.m16n8k16.row.col.satfinite.f32.f16.f16.f32 " + d + "," + a + "," + b + "," + c +
			";": ".satfinite",
		"mma.sync.aligned.m8n8k4.row.f32.f16.f16.f32 " + d + ", " + b + ", " + b + ", " + c + ";":     "needs the layouts",
		"mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 " + d + ", " + b + ", " + b + ", " + c + ";": "no .f16 of .f16 and .f16, added to .f32",
		"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 " + d + ", " + b + ", " + b + ", " + c + ";": "must have 8 elements",
		"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {%d0, %d1}, {%a0}, {%b0}, {%c0, %c1};": ".xor.popc or " +
			".and.popc",
		"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + d + ", " + b + ", " + b + ", " + c +
			";": "must have 4 elements",
		"mma.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + d + ", " + a + ", " + b + ", " + c +
			";": ".sync.aligned",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + d + "," + b + "," + b + "," + c + ", %a0, 4;":                   "a literal below 4",
		"mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 " + d + "," + a + "," + a + "," + c + ", %a0, 2;":                   "a literal below 2",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + d + "," + b + "," + b + "," + c + ", %a0, %a1;":                 "a literal below 4",
		"mma.sp.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " + d + "," + b + "," + b + "," + c + ", %a0, 0;":                    "has shapes [m16n8k16 m16n8k32]",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + d + "," + b + "," + b + "," + c + ";":                           "takes 6 operands",
		"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " + d + "," + b + "," + b + "," + c + ", %a0, 0;": "PTX 8.5",
		"wgmma.mma_async.sp::ordered_metadata.sync.aligned.m64n8k32.f32.f16.f16 " + d + ", %at, %at, %a0, 0, 0, 1, 1, 0, 0;":      "which belongs to mma: write .sp",
		"mma.sp.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 " + d + "," + b + "," + b + "," + c + ", %a0, 0;":                   "has shapes []",
		"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " + d + ", " + a + ", " + b + ", " + c + ";":                         "PTX 8.4",
		"wmma.load.a.sync.aligned.row.m16n16k16.f16 " + a +
			", [%at];": "must have 8 elements",
		"wmma.load.a.sync.aligned.m16n16k16.bf16 " + a + ", [%at];": ".row or .col",
		"wmma.load.a.sync.aligned.row.m16n16k8.bf16 " + a +
			", [%at];": "wmma of .bf16 has shapes",
		"wmma.load.c.sync.aligned.row.m16n16k16.f64 " + a +
			", [%at];": "no accumulators of .f64 in shape m16n16k16",
		"wmma.load.d.sync.aligned.row.m16n16k16.f32 " + a +
			", [%at];": "needs .a, .b or .c",
		"wmma.load.a.sync.aligned.col.m8n8k32.s4 {%a0}, [%at];":                                             "A in .row",
		"wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f16 " + d + "," + a + "," + a + "," + c + ";": "added to .f16",
		"wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64 " + d + "," + a + "," + a + "," + c + ";":  "rounding .rz",
		"ldmatrix.sync.aligned.m16n16.x1.trans.b8 {%d0, %d1}, [%row];":                                      "sm_100a",
		"ldmatrix.sync.aligned.m8n8.shared.b16 {%d0}, [%row];":                                              ".x1, .x2 or .x4",
		"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d0, %d1}, [%row];":                                      "must have 4 elements",
		"ldmatrix.sync.aligned.m8n8.x1.global.b16 {%d0}, [%at];":                                            "shared memory",
		"movmatrix.sync.aligned.m8n8.b16 %d0, %a0;":                                                         ".trans",
		"wgmma.fence.aligned;":               ".sync.aligned",
		"wgmma.wait_group.sync.aligned %a0;": "literal",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.e4m3.e4m3 " + d + ", %at, %at, p, 1, 1;":           "m64nNk32",
		"wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 " + d + ", %at, %at, p, 1, 1, 0, 0;":     "takes 6 operands",
		"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 " + d + ", %at, %at, p, 1, 1;":               "takes 4 operands",
		"wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 " + d + ", %at, %at, p;":                    "of 16 above 32",
		"wgmma.mma_async.sync.aligned.m64n8k64.s32.s4.s4 " + d + ", %at, %at, p;":                     "no .s32 of .s4",
		"wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc " + d + ", %at, %at, p;":           ".and.popc",
		"wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 " + d + ", %at, %at, p, 1, 1, 0, 0;":      "m64nNk16",
		"wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 " + b + ", %at, %at, p, 1, 1, 0, 0;":     "no .f16 of .bf16",
		"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " + d + ", %at, %at, p, 1, 1, 0, 0;":      "must have 8 elements",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + d + ", %at, %at, p, 1, 2, 0, 0;":       "must be 1 or -1",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + d + ", " + a + ", %at, p, 1, 1, 0, 0;": "takes 7 operands",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + d + ", %at, %at, _, 1, 1, 0, 0;":       "must be a predicate",
		"wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 " + d + ", %at, %at, p, 1, 1, 0, 0;":    "PTX 8.2",
	} {
		m, err := ptx.Parse("refused.ptx", []byte(fragmentKernel(body)))
		if err == nil {
			_, err = Compile(m)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error about %q", body, err, want)
		}
	}
	for _, target := range []string{".target sm_90", ".target sm_100a"} {
		text := strings.Replace(fragmentKernel("wgmma.fence.sync.aligned;"), ".target sm_90a", target, 1)
		m, err := ptx.Parse("refused.ptx", []byte(text))
		if err == nil {
			_, err = Compile(m)
		}
		if err == nil || !strings.Contains(err.Error(), "sm_90a") {
			t.Errorf("wgmma for %s: got %v", target, err)
		}
	}
}
