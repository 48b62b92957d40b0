package sim

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

// callsPTX has a kernel for each way to call. A kernel writes a word for each thread.
const callsPTX = `.version 8.0
.target sm_80
.address_size 64

.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);

.func (.param .b32 result) twice(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [x];
	shl.b32 %r2, %r1, 1;
	st.param.b32 [result+0], %r2;
	ret;
}
.func (.param .b32 result) square(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [x];
	mul.lo.s32 %r2, %r1, %r1;
	st.param.b32 [result+0], %r2;
	ret;
}
.func (.param .b32 result) fibonacci(.param .b32 n)
{
	.reg .pred %p1;
	.reg .b32 %r<8>;
	ld.param.u32 %r1, [n];
	setp.lt.u32 %p1, %r1, 2;
	mov.u32 %r7, %r1;
	@%p1 bra done;
	add.s32 %r2, %r1, -1;
	{
	.param .b32 param0;
	st.param.b32 [param0+0], %r2;
	.param .b32 retval0;
	call.uni (retval0), fibonacci, (param0);
	ld.param.b32 %r3, [retval0+0];
	}
	add.s32 %r4, %r1, -2;
	{
	.param .b32 param0;
	st.param.b32 [param0+0], %r4;
	.param .b32 retval0;
	call.uni (retval0), fibonacci, (param0);
	ld.param.b32 %r5, [retval0+0];
	}
	add.s32 %r7, %r3, %r5;
done:
	st.param.b32 [result+0], %r7;
	ret;
}
.func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 pair[16], .param .align 4 .b8 odd[12])
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [pair];
	ld.param.u64 %rd2, [pair+8];
	ld.param.u32 %r1, [odd+8];
	cvt.u64.u32 %rd0, %r1;
	add.s64 %rd1, %rd1, %rd0;
	st.param.b64 [result+0], %rd2;
	st.param.b64 [result+8], %rd1;
	ret;
}
.global .align 8 .u64 methods[3] = {twice, square, twice};
.global .align 4 .u32 counter = 5;
.const .align 4 .b32 table[4] = {10, 20, 30, 40};
.global .align 8 .u64 pointers[2] = {generic(counter), generic(methods)+8};

` + "KERNELS"

// pickPTX has its parameter and its result in registers.
const pickPTX = `
.func (.reg .b32 %result) pick(.reg .b32 %a)
{
	.reg .b32 %r<2>;
	rem.u32 %r1, %a, 3;
	ts: .branchtargets A, B, C;
	brx.idx %r1, ts;
A:	add.u32 %result, %a, 100;
	bra.uni E;
B:	add.u32 %result, %a, 200;
	bra.uni E;
C:	add.u32 %result, %a, 300;
E:	ret;
}
`

// exchangePTX are functions that call one another, the last of which exchanges values between lanes.
const exchangePTX = `
.func (.param .b32 result) exchange(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r1, [x];
	shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
	st.param.b32 [result+0], %r2;
	ret;
}
.func (.param .b32 result) wrapped(.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.u32 %r0, [x];
	{ .param .b32 param0; st.param.b32 [param0+0], %r0; .param .b32 retval0; call.uni (retval0), exchange, (param0); ld.param.b32 %r1, [retval0+0]; }
	add.u32 %r2, %r1, 100;
	st.param.b32 [result+0], %r2;
	ret;
}
`

// callKernels are bodies that leave their result in %r1, given the thread in %r0, with what they give.
var callKernels = []struct {
	name, functions, body string
	want                  func(n uint32) uint32
}{
	{"direct", "", callOf("twice"), func(n uint32) uint32 { return 2 * n }},
	{
		"recursive", "", "and.b32 %r0, %r0, 7;" + callOf("fibonacci"),
		func(n uint32) uint32 { return []uint32{0, 1, 1, 2, 3, 5, 8, 13}[n%8] },
	},
	{
		"method", "", `rem.u32 %r2, %r0, 3; mul.wide.u32 %rd1, %r2, 8; mov.u64 %rd2, methods; add.s64 %rd2, %rd2, %rd1; ld.global.u64 %rd3, [%rd2];
		{ .param .b32 param0; st.param.b32 [param0+0], %r0; .param .b32 retval0;
		prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
		call (retval0), %rd3, (param0), prototype_0; ld.param.b32 %r1, [retval0+0]; }`,
		func(n uint32) uint32 {
			if n%3 == 1 {
				return n * n
			}
			return 2 * n
		},
	},
	{
		"struct", "", `cvt.u64.u32 %rd1, %r0; { .param .align 8 .b8 param0[16]; st.param.b64 [param0+0], %rd1; st.param.b64 [param0+8], 7000;
		.param .align 4 .b8 param1[12]; st.param.b32 [param1+8], 9;
		.param .align 8 .b8 retval0[16]; call.uni (retval0), swap, (param0, param1); ld.param.b64 %rd2, [retval0+0]; ld.param.b64 %rd3, [retval0+8]; }
		add.s64 %rd2, %rd2, %rd3; cvt.u32.u64 %r1, %rd2;`,
		func(n uint32) uint32 { return 7009 + n },
	},
	{"switch", pickPTX, `call (%r1), pick, (%r0);`, func(n uint32) uint32 { return n + 100 + 100*(n%3) }},
	{
		"heap", "", `{ .param .b64 param0; st.param.b64 [param0+0], 8; .param .b64 retval0; call.uni (retval0), malloc, (param0); ld.param.b64 %rd1, [retval0+0]; }
		st.u32 [%rd1], %r0; ld.u32 %r1, [%rd1];
		{ .param .b64 param0; st.param.b64 [param0+0], %rd1; call.uni free, (param0); }`,
		func(n uint32) uint32 { return n },
	},
	{
		"by_table", "", `and.b32 %r2, %r0, 1; mul.wide.u32 %rd1, %r2, 8; mov.u64 %rd2, methods; add.s64 %rd2, %rd2, %rd1; ld.global.u64 %rd3, [%rd2];
		{ .param .b32 param0; st.param.b32 [param0+0], %r0; .param .b32 retval0;
		targets : .calltargets twice, square;
		call (retval0), %rd3, (param0), targets; ld.param.b32 %r1, [retval0+0]; }`,
		func(n uint32) uint32 { return n * (2 + n%2*(n-2)) },
	},
	{
		"places", exchangePTX, `and.b32 %r2, %r0, 16; setp.ne.u32 %p1, %r2, 0; @%p1 bra high; ` + callOf("exchange") +
			` bra.uni both; high: ` + callOf("exchange") + ` add.u32 %r1, %r1, 100; both:`,
		func(n uint32) uint32 { return (n ^ 16) + n/16%2*100 },
	},
	{
		"depths", exchangePTX, `and.b32 %r2, %r0, 16; setp.ne.u32 %p1, %r2, 0; @%p1 bra high; ` + callOf("exchange") +
			` bra.uni both; high: ` + callOf("wrapped") + ` both:`,
		func(n uint32) uint32 { return (n ^ 16) + n/16%2*100 },
	},
	{
		"through_pointers", "", `ld.global.u64 %rd1, [pointers]; ld.u32 %r1, [%rd1]; ld.global.u64 %rd2, [pointers+8]; ld.u64 %rd2, [%rd2]; ld.global.u64 %rd3, [methods+8];
		setp.eq.u64 %p1, %rd2, %rd3; selp.b32 %r2, 1, 0, %p1; add.s32 %r1, %r1, %r2; and.b32 %r2, %r0, 3; mul.wide.u32 %rd1, %r2, 4; mov.u64 %rd2, table; add.s64 %rd1, %rd1, %rd2;
		ld.const.u32 %r2, [%rd1]; add.s32 %r1, %r1, %r2;`,
		func(n uint32) uint32 { return 16 + 10*(n%4) },
	},
}

// callOf calls a function of %r0, as compilers do.
func callOf(function string) string {
	return "{ .param .b32 param0; st.param.b32 [param0+0], %r0; .param .b32 retval0; call.uni (retval0), " + function +
		", (param0); ld.param.b32 %r1, [retval0+0]; }"
}

// callsText is the module of a kernel.
func callsText(i int) string {
	k := callKernels[i]
	kernel := ".visible .entry " + k.name +
		"(.param .u64 out)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<6>;\nmov.u32 %r0, %tid.x;\nmov.u32 %r3, " +
		"%r0;\n" +
		k.body + "\nld.param.u64 %rd4, [out];\nmul.wide.u32 %rd5, %r3, 4;\nadd.s64 %rd4, %rd4, " +
		"%rd5;\nst.global.u32 [%rd4], %r1;\nret;\n}\n"
	return strings.Replace(callsPTX, "KERNELS", k.functions, 1) + kernel
}

// checkCalls runs the kernels on a device, and finds a variable.
func checkCalls(t *testing.T, d cudart.Device) {
	t.Helper()
	s, out := mustStream(t, d), mustMalloc(t, d, 4*64)
	for i, k := range callKernels {
		m, err := d.LoadModule(k.name+".ptx", []byte(callsText(i)))
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		kernel, err := m.Kernel(k.name)
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		if err := s.Launch(kernel, cudart.Launch{Blocks: 1, Threads: 64}, params(uint64(out))); err != nil {
			t.Fatal(err)
		}
		words := make([]byte, 4*64)
		if err := s.Download(words, out); err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		for n := range uint32(64) {
			if got, want := binary.LittleEndian.Uint32(words[4*n:]), k.want(n); got != want {
				t.Errorf("%s: thread %d got %d, want %d", k.name, n, got, want)
			}
		}
		if k.name == "through_pointers" {
			checkGlobal(t, s, m)
		}
	}
}

func checkGlobal(t *testing.T, s cudart.Stream, m cudart.Module) {
	t.Helper()
	at, size, err := m.Global("counter")
	word := make([]byte, 4)
	if err != nil || size != 4 || s.Download(word, at) != nil || word[0] != 5 {
		t.Errorf("the variable has %d bytes, %v, and holds %v; want 4 bytes that hold 5", size, err, word)
	}
	if _, size, err := m.Global("table"); err != nil || size != 16 {
		t.Errorf("the constant has %d bytes, %v; want 16", size, err)
	}
	if _, _, err := m.Global("nothing"); !isResult(err, cudart.ErrNotFound) {
		t.Errorf("a variable that is not there: %v", err)
	}
}

func TestCalls(t *testing.T) { checkCalls(t, openDevice(t)) }

// A GPU gives the same.
func TestCallsOnGPU(t *testing.T) {
	d, err := gpuBackend(t, 8).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	checkCalls(t, d)
}

// What kernels print has the device before each line, also a line without an end.
func TestPrintedLinesNameTheDevice(t *testing.T) {
	const text = `.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[14] = {98, 108, 111, 99, 107, 32, 37, 100, 10, 101, 110, 100, 0};
.entry k
{
	.local .align 8 .b32 buffer;
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	mov.u32 %r1, %ctaid.x;
	st.local.u32 [buffer], %r1;
	mov.u64 %rd1, format;
	mov.u64 %rd2, buffer;
	cvta.local.u64 %rd2, %rd2;
	{
	.param .b64 param0;
	st.param.b64 [param0+0], %rd1;
	.param .b64 param1;
	st.param.b64 [param1+0], %rd2;
	.param .b32 retval0;
	call.uni (retval0), vprintf, (param0, param1);
	}
	ret;
}`
	d := openDevice(t)
	var printed bytes.Buffer
	d.output.to = &printed
	m, err := d.LoadModule("print.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	s := mustStream(t, d)
	if err := s.Launch(k, cudart.Launch{Blocks: 2, Threads: 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Synchronize(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "[device 0] block 0\n[device 0] endblock 1\n[device 0] end\n"
	if diff := cmp.Diff(want, printed.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
