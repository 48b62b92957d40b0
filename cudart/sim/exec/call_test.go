package exec

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// calling wraps declarations and a body that leaves its result in %r, given the thread in %t.
func calling(functions, body string) string {
	return ".version 8.0\n.target sm_90\n.address_size 64\n" + functions + `
.visible .entry run(.param .u64 out)
{
	.reg .b32 %r, %t, %u, %v;
	.reg .b64 %x, %y, %at;
	.reg .pred p, q;
	mov.u32 %t, %tid.x;
	mov.u32 %r, 0;
` + body + `
	ld.param.u64 %at, [out];
	mad.wide.u32 %at, %t, 4, %at;
	st.global.u32 [%at], %r;
	ret;
}
`
}

// runCalling runs it with 32 threads.
func runCalling(t *testing.T, text string, cfg Config) ([32]uint32, *Grid, error) {
	t.Helper()
	p := compileText(t, text)
	mem := memory{}
	out := mem.allocate(256)
	cfg.Image = mem.allocate(max(int(p.ImageSize()), 16))
	p.WriteImage(mem.at(cfg.Image), cfg.Image, FunctionsAddress(0))
	cfg.Heap = NewHeap(mem.allocate(1<<12), 1<<12)
	cfg.Memory, cfg.Params = &mem, words(out)
	g := launchKernel(t, p, "run", cfg)
	err := finish(t, g)
	var got [32]uint32
	for i := range got {
		got[i] = binary.LittleEndian.Uint32(mem.at(out)[4*i:])
	}
	return got, g, err
}

const doubling = `
.func (.param .b32 result) twice(.param .b32 x)
{
	.reg .b32 %r;
	ld.param.b32 %r, [x];
	add.u32 %r, %r, %r;
	st.param.b32 [result+0], %r;
	ret;
}
`

const halving = `
.func (.param .b32 result) half(.param .b32 x)
{
	.reg .b32 %r;
	ld.param.b32 %r, [x];
	shr.u32 %r, %r, 1;
	st.param.b32 [result], %r;
	ret;
}
`

// variadicSum adds the first n words of the others.
const variadicSum = `
.func (.param .b32 result) sum(.param .b32 n, .param .align 8 .b8 others[])
{
	.reg .b32 %r, %n, %v;
	.reg .b64 %at;
	.reg .pred p;
	.local .b32 after;
	st.local.b32 [after], 99;
	ld.param.b32 %n, [n];
	mov.u32 %r, 0;
	mov.u64 %at, others;
next:
	ld.param.b32 %v, [%at];
	add.u32 %r, %r, %v;
	add.u64 %at, %at, 4;
	add.u32 %n, %n, -1;
	setp.ne.u32 p, %n, 0;
	@p bra next;
	st.param.b32 [result], %r;
	ret;
}
`

// callOf is a call sequence as nvcc writes it.
func callOf(function, d, a string) string {
	return "{\n.reg .b32 temp_param_reg;\n.param .b32 param0;\nst.param.b32 [param0+0], " + a +
		";\n.param .b32 retval0;\ncall.uni (retval0), " + function + ", (param0);\nld.param.b32 " + d + ", [retval0+0];\n}\n"
}

func TestCalls(t *testing.T) {
	fib := func(n uint32) uint32 {
		a, b := uint32(0), uint32(1)
		for range n {
			a, b = b, a+b
		}
		return a
	}
	for name, tt := range map[string]struct {
		functions, body string
		want            func(thread uint32) uint32
	}{
		"parameters in memory": {doubling, callOf("twice", "%r", "%t"), func(n uint32) uint32 { return 2 * n }},
		"registers": {
			`.func (.reg .b32 d) sum(.reg .b32 a, .reg .b64 b) { .reg .b32 c; cvt.u32.u64 c, b; add.u32 d, a, c; add.u32 a, a, 1; ret; }`,
			`cvt.u64.u32 %x, %t; call (%u), sum, (%t, 5); call (%r), sum, (%u, %x);`,
			func(n uint32) uint32 { return 2*n + 5 },
		},
		"registers to memory and back": {
			`.func (.reg .b32 d) id(.param .b32 a) { ld.param.b32 d, [a]; ret; }
			.func (.param .b32 d) ie(.reg .b32 a) { st.param.b32 [d], a; ret; }`,
			`{ .param .b32 p1; call (p1), id, (%t); .param .b32 p2; call (p2), ie, (7); ld.param.b32 %u, [p1]; ld.param.b32 %v, [p2]; add.u32 %r, %u, %v; }`,
			func(n uint32) uint32 { return n + 7 },
		},
		"no parameters": {
			`.global .u32 count; .func step { .reg .b32 r; atom.global.add.u32 r, [count], 1; }`,
			`call step; call.uni step; bar.warp.sync -1; ld.global.u32 %r, [count];`,
			func(uint32) uint32 { return 64 },
		},
		"a struct": {
			`.func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 s[16])
			{ .reg .b64 a, b; ld.param.v2.b64 {a, b}, [s]; st.param.b64 [r], b; st.param.b64 [r+8], a; ret; }`,
			`cvt.u64.u32 %x, %t;
			{ .param .align 8 .b8 p0[16]; st.param.b64 [p0+0], %x; st.param.b64 [p0+8], 9; .param .align 8 .b8 r0[16];
			call.uni (r0), swap, (p0); ld.param.b64 %x, [r0]; ld.param.b64 %y, [r0+8]; }
			cvt.u32.u64 %u, %x; cvt.u32.u64 %v, %y; mad.lo.u32 %r, %u, 100, %v;`,
			func(n uint32) uint32 { return 900 + n },
		},
		"local variables, whose addresses differ": {
			doubling + `.func (.param .b32 r) f(.param .b64 a)
			{ .local .align 4 .b8 depot[16]; .reg .b64 a1, l; .reg .b32 x, y; ld.param.u64 a1, [a]; ld.local.u32 x, [a1];
			mov.u64 l, depot; st.local.u32 [l+4], 3; st.local.u32 [depot], x; ` + callOf("twice", "x", "x") + ` ld.local.u32 y, [depot+4];
			mad.lo.u32 x, x, y, y; ld.local.u32 y, [depot]; add.u32 x, x, y; st.param.b32 [r], x; ret; }`,
			`.local .u32 mine; st.local.u32 [mine], %t; mov.u64 %x, mine;
			{ .param .b64 p0; st.param.b64 [p0], %x; .param .b32 r0; call.uni (r0), f, (p0); ld.param.b32 %r, [r0]; }`,
			func(n uint32) uint32 { return 7*n + 3 },
		},
		"local variables of large alignment": {
			`.func (.reg .b32 d) f(.reg .b32 a) { .local .align 64 .b8 depot[64]; .reg .b64 x; mov.u64 x, depot; cvt.u32.u64 d, x; and.b32 d, d, 63; ret; }
			.func (.reg .b32 d) g(.reg .b32 a) { .local .align 4 .b8 depot[4]; st.local.u32 [depot], a; call (d), f, (a); ret; }`,
			`.local .align 8 .b8 own[24]; st.local.u32 [own], %t; call (%u), f, (%t); call (%r), g, (%t); or.b32 %r, %r, %u;`,
			func(uint32) uint32 { return 0 },
		},
		"any number of arguments": {
			variadicSum + `.func (.param .b32 r) forward(.param .b32 n, .param .align 8 .b8 rest[])
			{ .reg .b32 a; .param .b32 p0; ld.param.b32 a, [n]; st.param.b32 [p0], a; .param .b32 r0; call (r0), sum, (p0, rest);
			ld.param.b32 a, [r0]; st.param.b32 [r], a; ret; }`,
			`{ .param .b32 p0; .param .align 8 .b8 p1[8]; .param .b32 r0; st.param.b32 [p0], 2; st.param.b32 [p1], %t; st.param.b32 [p1+4], 5;
			call (r0), sum, (p0, p1); ld.param.b32 %r, [r0]; }
			{ .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 r0; st.param.b32 [p0], 3; st.param.v2.b32 [p1], {%t, %t}; st.param.v2.b32 [p1+8], {1, 0};
			mov.u64 %x, forward; pr: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[]);
			call (r0), %x, (p0, p1), pr; ld.param.b32 %u, [r0]; add.u32 %r, %r, %u; }`,
			func(n uint32) uint32 { return 3*n + 6 },
		},
		"some lanes": {
			doubling, `and.b32 %u, %t, 1; setp.eq.u32 p, %u, 0; mov.u32 %r, 77; @!p bra L; ` + callOf("twice", "%r", "%t") +
				` L:`,
			func(n uint32) uint32 {
				if n%2 == 0 {
					return 2 * n
				}
				return 77
			},
		},
		"a guarded call": {
			`.func (.reg .b32 d) one(.reg .b32 a) { add.u32 d, a, 1; ret; }`, `setp.lt.u32 p, %t, 4; @p call (%r), one, (%t);`,
			func(n uint32) uint32 {
				if n < 4 {
					return n + 1
				}
				return 0
			},
		},
		"a return of some lanes": {
			`.func (.reg .b32 d) f(.reg .b32 a) { .reg .pred p; mov.u32 d, 1; setp.gt.u32 p, a, 10; @p ret; add.u32 d, a, 5; ret; }`,
			`call (%r), f, (%t); add.u32 %r, %r, 100;`,
			func(n uint32) uint32 {
				if n > 10 {
					return 101
				}
				return n + 105
			},
		},
		"recursion, deeper in some lanes": {
			`.func (.param .b32 r) fib(.param .b32 n);
			.func (.param .b32 r) fib(.param .b32 n)
			{ .reg .b32 a, b, c; .reg .pred p; ld.param.b32 a, [n]; setp.lt.u32 p, a, 2; @p bra L;
			sub.u32 b, a, 1; ` + callOf("fib", "c", "b") + ` sub.u32 b, a, 2; ` + callOf("fib", "b", "b") + ` add.u32 a, b, c; L: st.param.b32 [r], a; ret; }`,
			`and.b32 %u, %t, 7; ` + callOf("fib", "%r", "%u"),
			func(n uint32) uint32 { return fib(n % 8) },
		},
		"recursion in registers": {
			`.func (.reg .b32 r) depth(.reg .b32 n)
			{ .reg .b32 a; .reg .pred p; setp.eq.u32 p, n, 0; mov.u32 r, 0; @p ret; sub.u32 a, n, 1; call (r), depth, (a); @!p add.u32 r, r, n; ret; }`,
			`call (%r), depth, (%t);`,
			func(n uint32) uint32 { return n * (n + 1) / 2 },
		},
		"mutual recursion": {
			`.func (.reg .b32 r) odd(.reg .b32 n);
			.func (.reg .b32 r) even(.reg .b32 n) { .reg .pred p; .reg .b32 m; setp.eq.u32 p, n, 0; mov.u32 r, 1; @p ret; sub.u32 m, n, 1; call (r), odd, (m); ret; }
			.func (.reg .b32 r) odd(.reg .b32 n) { .reg .pred p; .reg .b32 m; setp.eq.u32 p, n, 0; mov.u32 r, 0; @p ret; sub.u32 m, n, 1; call (r), even, (m); ret; }`,
			`call (%r), even, (%t);`,
			func(n uint32) uint32 { return 1 - n%2 },
		},
		"through a register, by prototype": {
			doubling + halving,
			`mov.u64 %x, twice; mov.u64 %y, half; and.b32 %u, %t, 1; setp.eq.u32 p, %u, 0; selp.b64 %x, %x, %y, p;
			{ .param .b32 param0; st.param.b32 [param0+0], %t; .param .b32 retval0;
			proto : .callprototype (.param .b32 _) _ (.param .b32 _);
			call (retval0), %x, (param0), proto; ld.param.b32 %r, [retval0+0]; }`,
			func(n uint32) uint32 {
				if n%2 == 0 {
					return 2 * n
				}
				return n / 2
			},
		},
		"through a table": {
			doubling + halving + `.global .align 8 .u64 table[3] = {half, generic(twice), half};`,
			`rem.u32 %u, %t, 3; mov.u64 %x, table; mad.wide.u32 %x, %u, 8, %x; ld.global.u64 %x, [%x];
			{ .param .b32 param0; st.param.b32 [param0+0], %t; .param .b32 retval0;
			call (retval0), %x, (param0), targets; ld.param.b32 %r, [retval0+0]; targets: .calltargets twice, half; }`,
			func(n uint32) uint32 {
				if n%3 == 1 {
					return 2 * n
				}
				return n / 2
			},
		},
		"through a table, which the call names": {
			doubling + halving + `.global .u64 table[2] = {half, twice};`,
			`and.b32 %u, %t, 1; mov.u64 %x, table; mad.wide.u32 %x, %u, 8, %x; ld.global.u64 %x, [%x];
			{ .param .b32 p0; st.param::func.b32 [p0], %t; .param .b32 r0; call (r0), %x, (p0), table; ld.param::func.b32 %r, [r0]; }`,
			func(n uint32) uint32 {
				if n%2 == 1 {
					return 2 * n
				}
				return n / 2
			},
		},
		"a switch in a function": {
			`.func (.reg .b32 d) f(.reg .b32 a) { t: .branchtargets A, B, C; .reg .b32 k; rem.u32 k, a, 3; brx.idx k, t;
			A: add.u32 d, a, 10; ret; B: add.u32 d, a, 20; bra.uni E; C: add.u32 d, a, 30; E: ret; }`,
			`call (%r), f, (%t);`, func(n uint32) uint32 { return n + 10 + 10*(n%3) },
		},
		"an alias": {
			doubling + ".alias also, twice;", callOf("also", "%r", "%t"), func(n uint32) uint32 { return 2 * n },
		},
		"exit in a function": {
			`.func f(.reg .b32 a) { .reg .pred p; setp.lt.u32 p, a, 9; @p exit; ret; }`, `call f, (%t); mov.u32 %r, 5;`,
			func(n uint32) uint32 { return 5 * (n / 9) / max(n/9, 1) },
		},
		"shared memory of module and function": {
			`.shared .u32 all[32]; .func (.reg .b32 d) f(.reg .b32 a) { .shared .u32 own[32]; .reg .b64 x, y; .reg .b32 b; mov.u64 x, all; mad.wide.u32 x, a, 4, x; ld.shared.u32 b, [x];
			mov.u64 y, own; mad.wide.u32 y, a, 4, y; st.shared.u32 [y], 1; ld.shared.u32 d, [x]; add.u32 d, d, b; ret; }`,
			`mov.u64 %x, all; mad.wide.u32 %x, %t, 4, %x; st.shared.u32 [%x], %t; call (%r), f, (%t);`,
			func(n uint32) uint32 { return 2 * n },
		},
		"alloca": {
			`.func (.reg .b32 d) f(.reg .b32 n) { .reg .b64 size, at, old; stacksave.u64 old; mul.wide.u32 size, n, 4; alloca.u64 at, size, 16; st.local.u32 [at], n; ld.local.u32 d, [at]; stackrestore.u64 old; ret; }`,
			`add.u32 %u, %t, 1; call (%r), f, (%u);`, func(n uint32) uint32 { return n + 1 },
		},
		"the heap": {
			`.extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);`,
			`{ .param .b64 n; st.param.b64 [n], 8; .param .b64 r; call.uni (r), malloc, (n); ld.param.b64 %x, [r]; }
			st.u32 [%x], %t; bar.warp.sync -1; ld.u32 %r, [%x]; { .param .b64 p0; st.param.b64 [p0], %x; call.uni free, (p0); }`,
			func(n uint32) uint32 { return n },
		},
		"a full heap": {
			`.extern .func (.param .b64 r) malloc(.param .b64 n);`,
			`{ .param .b64 n; st.param.b64 [n], 1024; .param .b64 r; call.uni (r), malloc, (n); ld.param.b64 %x, [r]; } setp.ne.u64 p, %x, 0; selp.u32 %r, 1, 0, p;`,
			func(n uint32) uint32 { return min(1, max(4, n)-n) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := runCalling(t, calling(tt.functions, tt.body), Config{})
			if err != nil {
				t.Fatal(err)
			}
			for n, v := range got {
				if want := tt.want(uint32(n)); v != want {
					t.Errorf("thread %d: got %d, want %d", n, v, want)
				}
			}
		})
	}
}

// Lanes that called the same function at different places, or at different depths, are together again
// behind the calls: a shuffle of all lanes finds them, and takes one instruction.
func TestLanesReconvergeAfterCalls(t *testing.T) {
	const functions = `
.func (.reg .b32 r) depth(.reg .b32 n)
{ .reg .b32 a; .reg .pred p; setp.eq.u32 p, n, 0; mov.u32 r, 0; @p ret; sub.u32 a, n, 1; call (r), depth, (a); add.u32 r, r, 1; ret; }`
	const body = `
	setp.lt.u32 p, %t, 16;
	@p bra low;
	call (%u), depth, (%t);
	bra.uni both;
low:
	call (%u), depth, (3);
both:
	activemask.b32 %r;`
	got, _, err := runCalling(t, calling(functions, body), Config{})
	if err != nil {
		t.Fatal(err)
	}
	for n, v := range got {
		if v != fullMask {
			t.Errorf("thread %d runs with the lanes %#x, want all", n, v)
		}
	}
}

// A .sync instruction of a function brings lanes together that called it at different places, and at different
// depths.
func TestLanesMeetInAFunction(t *testing.T) {
	const functions = `
.func (.reg .b32 d) exchange(.reg .b32 a) { shfl.sync.bfly.b32 d, a, 16, 31, -1; ret; }
.func (.reg .b32 d) wrapped(.reg .b32 a) { call (d), exchange, (a); add.u32 d, d, 100; ret; }`
	for name, body := range map[string]string{
		"two places": "setp.lt.u32 p, %t, 16; @p bra low; call (%r), exchange, (%t); add.u32 %r, %r, 100; bra.uni both; " +
			"low: call (%r), exchange, (%t); both:",
		"two depths": "setp.lt.u32 p, %t, 16; @p bra low; call (%r), wrapped, (%t); bra.uni both; " +
			"low: call (%r), exchange, (%t); both:",
		"and back": "setp.ge.u32 p, %t, 16; @p bra high; call (%r), exchange, (%t); bra.uni both; " +
			"high: call (%r), wrapped, (%t); both: bar.warp.sync -1;",
	} {
		got, _, err := runCalling(t, calling(functions, body), Config{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n, v := range got {
			if want := uint32(n ^ 16 + n/16*100); v != want {
				t.Errorf("%s: thread %d got %d, want %d", name, n, v, want)
			}
		}
	}
}

func TestCallFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		functions, body string
		kind            FaultKind
		words           []string
	}{
		"endless recursion": {
			`.func f(.reg .b32 n) { .local .b8 depot[64]; .reg .b32 m; add.u32 m, n, 1; call f, (m); ret; }`, `call f, (%t);`,
			StackOverflow,
			[]string{"function f of kernel run", "calls"},
		},
		"a pointer to nothing": {
			doubling, `mov.u64 %x, 64; pr: .callprototype _ (); call %x, (), pr;`, IllegalInstruction, []string{"no function"},
		},
		"another prototype": {
			doubling, `mov.u64 %x, twice; pr: .callprototype _ (); call %x, (), pr;`, IllegalInstruction,
			[]string{"no function"},
		},
		"code as data": {doubling, `mov.u64 %x, twice; ld.u32 %r, [%x];`, IllegalAddress, nil},
		"an assertion": {
			`.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;
			.global .b8 text[6] = {110, 32, 60, 32, 51, 0}; .global .b8 file[5] = {97, 46, 99, 117, 0};
			.func check(.reg .b32 n) { .reg .pred p; .reg .b64 x; setp.lt.u32 p, n, 3; @p ret;
			{ .param .b64 a; mov.u64 x, text; cvta.global.u64 x, x; st.param.b64 [a], x; .param .b64 b; mov.u64 x, file; st.param.b64 [b], x;
			.param .b32 c; st.param.b32 [c], 17; .param .b64 d; st.param.b64 [d], x; .param .b64 e; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); } ret; }`,
			`call check, (%t);`, AssertionFailed,
			[]string{"a.cu:17", "n < 3", "thread 3,", "function check"},
		},
		"freed twice": {
			`.extern .func free(.param .b64 p);`, `{ .param .b64 p0; st.param.b64 [p0], 12345; call.uni free, (p0); }`,
			IllegalAddress,
			[]string{"free of 0x3039"},
		},
		"a fault with its source": {
			`.file 1 "/src/kernel.cu" .file 2 "util.cuh" .func f { .reg .b64 x; .loc 1 30 1
			.loc 2 12 3, function_name L, inlined_at 1 30 1
			mov.u64 x, 0; st.global.b64 [x], x; }`, `call f;`, IllegalAddress, []string{"(util.cuh:12, inlined at kernel.cu:30)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := runCalling(t, calling(tt.functions, tt.body), Config{})
			var fault *Fault
			if !errors.As(err, &fault) || fault.Kind != tt.kind {
				t.Fatalf("got %v, want a %s", err, tt.kind)
			}
			for _, word := range tt.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
		})
	}
}

// Ranks that look up a kernel at the same time get the same one.
func TestKernelIsCompiledOnce(t *testing.T) {
	p, err := Load(parseText(t, calling(doubling, callOf("twice", "%r", "%t"))))
	if err != nil {
		t.Fatal(err)
	}
	var looking sync.WaitGroup
	kernels := make([]*Kernel, 8)
	for i := range kernels {
		looking.Go(func() { kernels[i], _ = p.Kernel("run") })
	}
	looking.Wait()
	for i, k := range kernels {
		if k == nil || k != kernels[0] {
			t.Errorf("caller %d got %p, and the first %p", i, k, kernels[0])
		}
	}
}

// BenchmarkCalls counts calls of a warp, with an argument and a result in memory, as compilers write them.
func BenchmarkCalls(b *testing.B) {
	const calls = 1000
	p := compileText(b, calling(doubling,
		"mov.u32 %v, 0; loop: "+callOf("twice", "%r", "%t")+" add.u32 %v, %v, 1; setp.lt.u32 p, %v, 1000; @p bra loop;"))
	before := cpuTime(b)
	for b.Loop() {
		var mem memory
		g := launchKernel(b, p, "run", Config{Params: words(mem.allocate(256)), Memory: &mem})
		if err := finish(b, g); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(calls*b.N), "cpu-ns/call")
}

// A kernel is refused for what the functions lack that it may call, and for nothing else.
func TestKernelsAreRefusedOneByOne(t *testing.T) {
	p, err := Load(parseText(t, calling(`
.extern .func nowhere(.param .b32 a);
.extern .func cudaLaunchDeviceV2(.param .b32 a);
.extern .global .u32 elsewhere;
.global .texref picture;
.func odd { tcgen05.fence::before_thread_sync; }
.func unused { .reg .b32 a; call nowhere, (a); }
.entry lacks { odd2: call odd; ret; }
.entry undefined { .reg .b32 a; mov.u32 a, 1; call nowhere, (a); ret; }
.entry launches { .reg .b32 a; mov.u32 a, 1; call cudaLaunchDeviceV2, (a); ret; }
.entry external { .reg .b32 a; ld.global.u32 a, [elsewhere]; ret; }
.entry textured { .reg .b64 a; mov.u64 a, picture; ret; }
.entry counts { .reg .b32 a; call odd, (a); ret; }
`, "")))
	if err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]string{
		"lacks": "test.ptx:9: tcgen05 needs a target such as sm_100a", "undefined": "nowhere is declared and not defined",
		"launches": "device runtime",
		"external": `"elsewhere" is extern`, "textured": "textures",
		"counts": "the call has 1 arguments and 0 results, and the function 0 and 0",
	} {
		for range 2 {
			if _, err := p.Kernel(entry); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %q", entry, err, want)
			}
		}
	}
	if _, err := p.Kernel("run"); err != nil {
		t.Errorf("a kernel that needs none of that: %v", err)
	}
	if _, err := p.Kernel("other"); !errors.Is(err, ErrNoKernel) {
		t.Errorf("a kernel that is not there: %v", err)
	}
}

// With memory disorder, and with few instructions in a turn, calls give the same.
func TestCallsInDisorder(t *testing.T) {
	for seed := range uint64(8) {
		got, _, err := runCalling(t, calling(doubling+halving, callOf("twice", "%u", "%t")+callOf("half", "%r", "%u")),
			Config{Disorder: rand.New(rand.NewPCG(seed, 0))})
		if err != nil {
			t.Fatal(err)
		}
		for n, v := range got {
			if v != uint32(n) {
				t.Errorf("seed %d, thread %d: got %d", seed, n, v)
			}
		}
	}
}
