package exec

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/tensorcore"
)

// Loads extend to the register's width by the type's sign; both the path for
// whole warps and the one for single lanes must.
func TestLoadsExtend(t *testing.T) {
	for body, want := range map[string]uint32{
		"ld.global.u8 %out, [%data+256];":                                                                           0x80,
		"ld.global.s8 %out, [%data+256];":                                                                           0xffffff80,
		"ld.global.u16 %out, [%data+256];":                                                                          0xff80,
		"ld.global.s16 %out, [%data+256];":                                                                          0xffffff80,
		"ld.volatile.global.s8 %out, [%data+256];":                                                                  0xffffff80,
		"ld.global.s32 %x, [%data+256]; shr.u64 %x, %x, 32; cvt.u32.u64 %out, %x;":                                  0xffffffff,
		"ld.global.u32 %x, [%data+256]; shr.u64 %x, %x, 32; cvt.u32.u64 %out, %x;":                                  0,
		"ld.global.nc.L1::no_allocate.L2::128B.u32 %out, [%data+260];":                                              0x01020304,
		"ld.mmio.relaxed.sys.global.u32 %out, [%data+260];":                                                         0x01020304,
		"st.mmio.relaxed.sys.global.u32 [%data+256], 9; ld.volatile.global.u32 %out, [%data+256];":                  9,
		"ld.relaxed.sys.global.u64 %x, [%data+256]; shr.u64 %x, %x, 32; cvt.u32.u64 %out, %x;":                      0x01020304,
		"ld.global.v2.u32 {%a, %out}, [%data+256];":                                                                 0x01020304,
		"ld.global.v4.u16 {_, _, %out, _}, [%data+256];":                                                            0x0304,
		"ld.global.v2.b64 {%x, %y}, [%data+256]; cvt.u32.u64 %out, %y;":                                             7,
		"ld.volatile.global.v4.u32 {%a, %b, %out, %c}, [%data+256];":                                                7,
		"ld.global.u32 %x, [%data+256]; st.shared.u8 [shared+1], %x; ld.shared.u32 %out, [shared];":                 0x8000,
		"st.global.v2.u16 [%data+256], {1, 2}; ld.global.u32 %out, [%data+256];":                                    0x20001,
		"st.release.sys.global.u64 [%data+256], 5; fence.acq_rel.sys; ld.acquire.sys.global.u32 %out, [%data+256];": 5,
		"mov.u64 %x, out; ld.param.u64 %y, [%x]; setp.eq.u64 p, %y, %data; selp.u32 %out, 6, 0, p;":                 6,
	} {
		for _, threads := range []int{32, 1} {
			var mem memory
			base := mem.allocate(512)
			binary.LittleEndian.PutUint32(mem.at(base+256), 0xffffff80)
			binary.LittleEndian.PutUint32(mem.at(base+260), 0x01020304)
			binary.LittleEndian.PutUint32(mem.at(base+264), 7)
			g := launchKernel(t, compileText(t, kernel(body)), "run",
				Config{Threads: threads, Params: words(base), Memory: &mem})
			if err := finish(t, g); err != nil {
				t.Fatal(err)
			}
			if got := binary.LittleEndian.Uint32(mem.at(base)); got != want {
				t.Errorf("%d threads, %s: %#x, want %#x", threads, body, got, want)
			}
		}
	}
}

func TestVectorsOf256Bits(t *testing.T) {
	text := strings.NewReplacer(".version 7.8", ".version 8.8", "sm_80", "sm_100").Replace(kernel(`
		.reg .b64 %z, %w;
		st.global.v8.b32 [%data+256], {1, 0, 2, 0, 3, 0, 4, 0};
		ld.global.v4.b64 {%x, %y, %z, %w}, [%data+256];
		mad.lo.u64 %x, %x, 10, %y;
		mad.lo.u64 %x, %x, 10, %z;
		mad.lo.u64 %x, %x, 10, %w;
		cvt.u32.u64 %out, %x;
	`))
	for _, threads := range []int{1, 32} {
		var mem memory
		base := mem.allocate(512)
		g := launchKernel(t, compileText(t, text), "run", Config{Threads: threads, Params: words(base), Memory: &mem})
		if err := finish(t, g); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(mem.at(base)); got != 1234 {
			t.Errorf("%d threads: got %d, want 1234", threads, got)
		}
	}
}

func TestReduceKernels(t *testing.T) {
	p := compileFile(t, "testdata/kernels.ptx")
	for entry, ranks := range map[string]int{"reduce_4": 4, "reduce_8": 8, "reduce_n": 3} {
		const vectors = 333
		var mem memory
		var args []uint64
		for r := range 8 {
			in := mem.allocate(16 * vectors)
			for i := range 4 * vectors {
				binary.LittleEndian.PutUint32(mem.at(in)[4*i:], math.Float32bits(float32(i)+float32(r)/8))
			}
			args = append(args, in)
		}
		out := mem.allocate(16 * vectors)
		args = append(args, out, vectors|uint64(ranks)<<32)
		g := launchKernel(t, p, entry, Config{Blocks: 2, Threads: 96, Params: words(args...), Memory: &mem})
		if err := finish(t, g); err != nil {
			t.Fatal(err)
		}
		for i := range 4 * vectors {
			want := float32(0)
			for r := range ranks {
				want += float32(i) + float32(r)/8
			}
			if got := math.Float32frombits(binary.LittleEndian.Uint32(mem.at(out)[4*i:])); got != want {
				t.Fatalf("%s: element %d is %v, want %v", entry, i, got, want)
			}
		}
	}
}

func TestBlockSum(t *testing.T) {
	const n = 5000
	var mem memory
	in, out := mem.allocate(4*n), mem.allocate(4)
	want := uint32(0)
	for i := range n {
		binary.LittleEndian.PutUint32(mem.at(in)[4*i:], uint32(i*i))
		want += uint32(i * i)
	}
	g := launchKernel(t, compileFile(t, "testdata/kernels.ptx"), "block_sum",
		Config{Blocks: 5, Threads: 256, Params: words(in, out, n), Memory: &mem})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	if got := binary.LittleEndian.Uint32(mem.at(out)); got != want {
		t.Errorf("the sum is %d, want %d", got, want)
	}
}

func TestIndexedBranch(t *testing.T) {
	var mem memory
	data := mem.allocate(256)
	var want [32]int32
	for i := range 32 {
		v, x := int32(i%8), int32(100+i)
		binary.LittleEndian.PutUint32(mem.at(data)[4*i:], uint32(v))
		binary.LittleEndian.PutUint32(mem.at(data)[4*(i+32):], uint32(x))
		want[i] = [8]int32{x * 3, x + 5, x ^ 7, x - 9, x / 3, x % 5, -1, -1}[v]
	}
	g := launchKernel(t, compileFile(t, "testdata/kernels.ptx"), "switch_lanes", Config{Params: words(data), Memory: &mem})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	var got [32]int32
	for i := range got {
		got[i] = int32(binary.LittleEndian.Uint32(mem.at(data)[4*i:]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModuleVariables(t *testing.T) {
	p := compileText(t, `
.version 7.8
.target sm_80
.address_size 64
.global .align 4 .u32 first = 11;
.const .align 8 .b8 table[16] = {1, 2, 3};
.global .align 8 .u64 pointer = table+1;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry run(.param .u64 out)
{
	.reg .b64 %rd<6>;
	.reg .b32 %r<6>;
	ld.param.u64 %rd1, [out];
	ld.global.u32 %r1, [first];
	ld.global.u64 %rd2, [pointer];
	ld.u8 %r2, [%rd2];
	ld.const.u8 %r3, [table+2];
	mov.u64 %rd3, dynamic;
	mov.u32 %r4, %dynamic_smem_size;
	cvt.u64.u32 %rd4, %r4;
	add.s64 %rd3, %rd3, %rd4;
	st.shared.u32 [%rd3+-4], %r1;
	ld.shared.u32 %r1, [%rd3+-4];
	st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
	ret;
}`)
	var mem memory
	out, image := mem.allocate(16), mem.allocate(int(p.ImageSize()))
	p.WriteImage(mem.at(image), image, FunctionsAddress(0))
	g := launchKernel(t, p, "run", Config{Threads: 1, SharedBytes: 64, Params: words(out), Image: image, Memory: &mem})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	var got [4]uint32
	for i := range got {
		got[i] = binary.LittleEndian.Uint32(mem.at(out)[4*i:])
	}
	if diff := cmp.Diff([4]uint32{11, 2, 3, 64}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is not implemented is refused when a kernel is compiled, by name.
func TestRefusals(t *testing.T) {
	for body, want := range map[string]string{
		"suq.width.b32 %a, [t];":                              "suq is not implemented: textures",
		"ex2.f32 %a, %b;":                                     "needs .approx",
		"add.rz.f16 %a, %b, %c;":                              "does not implement .rz",
		".reg .b128 w; add.u64 %x, w, 1;":                     "w has 128 bits",
		".reg .b128 w; ld.global.v2.b128 {w, w}, [%data];":    "cannot be loaded",
		"ld.global.b128 %x, [%data];":                         "PTX 8.3",
		".reg .b128 w; mov.b128 w, %x;":                       "PTX 8.3",
		".reg .b128 w; atom.add.b128 w, [%data], w;":          "PTX 8.3",
		"cvt.rs.f16x2.f32 %a, %b, %c, %a;":                    "random bits",
		"cvt.rz.ue8m0x2.f32 %a, %b, %c;":                      "sm_100a",
		"cvt.rn.satfinite.e2m3x2.f32 %a, %b, %c;":             "sm_100a",
		"add.u8 %a, %b, %c;":                                  "not implemented",
		"add.s32 %a, %b;":                                     "takes 3 operands",
		"add.s32 %a, %b, nowhere;":                            `"nowhere" is not defined`,
		"add.s64 %x, %a, %y;":                                 "narrower",
		"add.s32 %a, p, %b;":                                  "cannot hold",
		"mov.u32 %a, %nosuchregister;":                        "%nosuchregister",
		"bra nowhere;":                                        "label",
		"ld.global.v4.u32 {%a, %b}, [%data];":                 "4 elements and 2 registers",
		"ld.global.u32 %a, %data;":                            "must be an address",
		"ld.global.v4.b64 {%x, %x, %y, %y}, [%data];":         "a vector of 4 .b64 is not possible",
		"st.global.v8.b16 [%data], {1, 2, 3, 4, 5, 6, 7, 8};": "a vector of 8 .b16 is not possible",
		"st.const.u32 [%data], %a;":                           "cannot be stored",
		"call foo;":                                           `"foo" is not defined`,
		"atom.global.add.u16 %a, [%data], 1;":                 "not implemented",
		"shfl.idx.b32 %a, %b, 0, 31;":                         ".sync",
		"cvt.rn.relu.f64.f32 %x, %a;":                         "not implemented",
		"ld.global.multicast.u32 %a, [%data];":                ".multicast",
		"fence;":                                              "scope",
		"lop3.b32 %a, %b, %c, %a, %b;":                        "literal table",
		"mad.wide.u64 %x, %x, %x, %x;":                        "not implemented",
		"bar.sync 0, 32, 5;":                                  "operands",
		"setp.lt.s32 p, %a, %b, q;":                           "takes 3 operands",
		"selp.b32 %a, %b, %c, _;":                             "must be a predicate",
		"and.pred p, q, _;":                                   "must be a predicate",
	} {
		m, err := ptx.Parse("refused.ptx", []byte(kernel(body)))
		if err == nil {
			_, err = Compile(m)
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "refused.ptx:") {
			t.Errorf("%s: got %v, want an error about %q", body, err, want)
		}
	}
}

// FuzzCompile feeds whole modules through parser and compiler, and runs what
// comes out for a few instructions: nothing may panic.
func FuzzCompile(f *testing.F) {
	f.Add(kernel("ld.global.v4.u32 {%a, %b, %c, %out}, [%data+16]; shfl.sync.bfly.b32 %out|p, %a, 16, 31, -1;"))
	f.Add(kernel("loop: setp.lt.and.s32 p|q, %a, 5, !p; @p bra loop; bar.red.popc.u32 %a, 0, q; mov.b64 {%a, _}, %x;"))
	f.Add(kernel("t: .branchtargets a, b; brx.idx %a, t; a: cvt.rn.bf16x2.f32 %a, %b, %c; b: bfi.b32 %a, %b, %c, 1, 2;"))
	f.Add(kernel("vote.sync.ballot.b32 %a, p, -1; match.any.sync.b32 %b, %a, -1; redux.sync.add.s32 %c, %a, -1;"))
	f.Add(copyKernel(copyBodies["bulk, in and out"].body))
	f.Add(copyKernel("cp.async.ca.shared.global.L2::cache_hint [%s], [%from], 16, %out; cp.async.wait_group 1; " +
		"griddepcontrol.wait;"))
	f.Add(multimemKernel("sm_100a",
		"multimem.ld_reduce.add.acc::f16.v8.e4m3x2 {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7}, [%mc]; "+
			"multimem.red.add.v4.f32 [%mc], {%f0,%f1,%f2,%f3};"))
	f.Add(fragmentKernel(mmaText("bf16", 16) + mmaText("f16", 8) + "movmatrix.sync.aligned.m8n8.trans.b16 %a0, %d0;"))
	f.Add(fragmentKernel("ldmatrix.sync.aligned.m8n8.x4.trans.b16 {%d0, %d1, %d2, %d3}, [%row]; " +
		"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row], {%d0};"))
	f.Add(wgmmaKernel(4, "wgmma.fence.sync.aligned;"+multiplyTest{typ: "f16", n: 8, registers: true}.text()+
		"wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"))
	f.Add(fragmentKernel("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a0, %a1}, {%b0, %b1}, " +
		"{%c0, %c1, %c2, %c3}, %a2, 0;"))
	f.Add(".version 7.8 .target sm_80 .global .u64 a = b+4; .const .b8 b[8] = {1}; " +
		".entry k(.param .b8 p[9]) .maxntid 1 { ret; }")
	f.Add(calling(doubling+halving,
		callOf("twice", "%r", "%t")+"mov.u64 %x, half; pr: .callprototype (.param .b32 _) _ (.param .b32 _); "+
			"{ .param .b32 a; .param .b32 b; call (a), %x, (b), pr; }"))
	f.Add(calling(".func (.reg .b32 d) f(.reg .b32 a) { .local .b8 l[8]; call (d), f, (a); ret; }",
		"call (%r), f, (1); alloca.u64 %x, 8; stacksave.u64 %x; stackrestore.u64 %x;"))
	f.Add(calling(".extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p); "+
		".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);",
		"{ .param .b64 n; .param .b64 r; call (r), malloc, (n); call free, (r); .param .b32 c; call (c), vprintf, (n, r); }"))
	f.Fuzz(compileAndRun)
}

// compileAndRun runs each kernel of a text for a few turns, if it compiles.
func compileAndRun(t *testing.T, text string) {
	m, err := ptx.Parse("fuzz.ptx", []byte(text))
	if err != nil {
		return
	}
	p, err := Compile(m)
	if err != nil || p.ImageSize() > 1<<16 {
		return
	}
	mem := memory{zeroed(1 << 16)}
	p.WriteImage(mem[0], FirstRegion<<RegionShift, FunctionsAddress(0))
	var disorder *rand.Rand
	if len(text)%2 == 0 {
		disorder = rand.New(rand.NewPCG(uint64(len(text)), 0))
	}
	for _, compiled := range p.kernels {
		k, err := compiled()
		if err != nil {
			t.Fatal(err)
		}
		threads := 136 // a warpgroup, and a part of a warp
		if k.MaxThreads > 0 {
			threads = min(threads, k.MaxThreads)
		}
		g, err := Launch(k, Config{
			Blocks: 1, Threads: threads, Params: make([]byte, k.ParamBytes),
			Image: FirstRegion << RegionShift, SMs: 1, Memory: &mem, Clock: &ticks{},
			TensorCores: tensorcore.Of(9), Disorder: disorder, Heap: NewHeap(FirstRegion<<RegionShift, 1<<16),
		})
		if err != nil {
			continue
		}
		for range 3 {
			if state, err := g.Turn(100); state == Done || err != nil {
				break
			}
		}
	}
}
