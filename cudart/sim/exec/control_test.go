package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim/tensorcore"
)

// kernel wraps a body whose result, %out, is stored by every thread at
// out[thread]. %tid is the thread, %data the address of out.
func kernel(body string) string {
	return `
.version 7.8
.target sm_80
.address_size 64
.visible .entry run(.param .u64 out)
{
	.reg .b64 %data, %at, %x, %y;
	.reg .b32 %tid, %out, %a, %b, %c;
	.reg .pred p, q;
	.shared .align 8 .b8 shared[4096];
	.local .align 8 .b8 local[64];
	ld.param.u64 %data, [out];
	mov.u32 %tid, %tid.x;
	mov.u32 %out, 0;
` + body + `
	mad.wide.u32 %at, %tid, 4, %data;
	st.global.u32 [%at], %out;
	ret;
}
`
}

// runBody runs a body with so many threads in one block and returns %out of
// each. The buffer has room beyond that, zeroed.
func runBody(t *testing.T, threads int, body string) ([]uint32, error) {
	t.Helper()
	var mem memory
	base := mem.allocate(4*threads + 256)
	g := launchKernel(t, compileText(t, kernel(body)), "run", Config{Threads: threads, Params: words(base), Memory: &mem})
	if err := finish(t, g); err != nil {
		return nil, err
	}
	out := make([]uint32, threads)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(mem.at(base)[4*i:])
	}
	return out, nil
}

func expectBody(t *testing.T, threads int, body string, want func(thread int) uint32) {
	t.Helper()
	got, err := runBody(t, threads, body)
	if err != nil {
		t.Fatal(err)
	}
	var all []uint32
	for i := range threads {
		all = append(all, want(i))
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDivergentLoopsCountPerLane(t *testing.T) {
	expectBody(t, 50, `
		mov.u32 %a, 0;
	loop:
		setp.ge.u32 p, %a, %tid;
		@p bra done;
		add.u32 %out, %out, %a;
		add.u32 %a, %a, 1;
		bra loop;
	done:
	`, func(n int) uint32 { return uint32(n * (n - 1) / 2) })
}

func TestNestedBranchesRejoin(t *testing.T) {
	expectBody(t, 32, `
		and.b32 %a, %tid, 1;
		setp.eq.u32 p, %a, 0;
		@p bra even;
		and.b32 %b, %tid, 2;
		setp.eq.u32 q, %b, 0;
		@q bra odd1;
		mov.u32 %out, 3;
		bra join;
	odd1:
		mov.u32 %out, 1;
		bra join;
	even:
		mov.u32 %out, 100;
	join:
		activemask.b32 %c;
		setp.eq.u32 p, %c, -1;
		@p add.u32 %out, %out, 1000;
	`, func(n int) uint32 { return map[int]uint32{0: 1100, 1: 1001, 2: 1100, 3: 1003}[n%4] })
}

// A lane that waits for another lane of its warp must let it run, wherever in
// the code that one is.
func TestLaneSpinsOnItsOwnWarp(t *testing.T) {
	for name, who := range map[string]string{"writer after": "ne", "writer before": "eq"} {
		t.Run(name, func(t *testing.T) {
			expectBody(t, 32, fmt.Sprintf(`
				setp.%s.u32 p, %%tid, 0;
				@!p bra second;
			first:
				setp.eq.u32 q, %%tid, 0;
				@q bra write1;
			wait1:
				ld.volatile.global.u32 %%a, [%%data+128];
				setp.eq.u32 q, %%a, 0;
				@q bra wait1;
				bra done;
			write1:
				st.volatile.global.u32 [%%data+128], 7;
				mov.u32 %%a, 7;
				bra done;
			second:
				setp.eq.u32 q, %%tid, 0;
				@q bra write2;
			wait2:
				ld.acquire.gpu.global.u32 %%a, [%%data+128];
				setp.eq.u32 q, %%a, 0;
				@q bra wait2;
				bra done;
			write2:
				st.release.gpu.global.u32 [%%data+128], 7;
				mov.u32 %%a, 7;
			done:
				mov.u32 %%out, %%a;
			`, who), func(int) uint32 { return 7 })
		})
	}
}

// A lock taken lane by lane is the classic that deadlocks without independent
// thread scheduling.
func TestSpinLockWithinAWarp(t *testing.T) {
	expectBody(t, 64, `
	again:
		atom.global.acquire.gpu.cas.b32 %a, [%data+256], 0, 1;
		setp.ne.u32 p, %a, 0;
		@p bra again;
		ld.volatile.global.u32 %b, [%data+260];
		add.u32 %b, %b, 1;
		st.volatile.global.u32 [%data+260], %b;
		atom.global.release.gpu.exch.b32 %a, [%data+256], 0;
		bar.sync 0;
		ld.volatile.global.u32 %out, [%data+260];
	`, func(int) uint32 { return 64 })
}

func TestWarpsOfABlockMeetAtBarriers(t *testing.T) {
	const reverse = `
		mov.u64 %%x, shared;
		mad.wide.u32 %%y, %%tid, 4, %%x;
		st.shared.u32 [%%y], %%tid;
		%s
		sub.u32 %%a, 99, %%tid;
		mad.wide.u32 %%y, %%a, 4, %%x;
		ld.shared.u32 %%out, [%%y];
	`
	for _, bar := range []string{"bar.sync 0;", "barrier.sync 3;", "barrier.sync.aligned 5, 128;", "barrier.cta.sync 1;"} {
		t.Run(bar, func(t *testing.T) {
			expectBody(t, 100, fmt.Sprintf(reverse, bar), func(n int) uint32 { return uint32(99 - n) })
		})
	}
}

func TestDivergedLanesArriveOneByOne(t *testing.T) {
	expectBody(t, 64, `
		and.b32 %a, %tid, 1;
		setp.eq.u32 p, %a, 0;
		@p bra even;
		bar.sync 0;
		bra done;
	even:
		st.shared.u32 [shared], 9;
		bar.sync 0;
	done:
		ld.shared.u32 %out, [shared];
	`, func(int) uint32 { return 9 })
}

func TestExitedThreadsAreNotWaitedFor(t *testing.T) {
	expectBody(t, 96, `
		setp.ge.u32 p, %tid, 40;
		@p ret;
		bar.sync 0;
		mov.u32 %out, 5;
	`, func(n int) uint32 {
		if n < 40 {
			return 5
		}
		return 0
	})
}

func TestBarrierReductions(t *testing.T) {
	expectBody(t, 70, `
		setp.lt.u32 p, %tid, 11;
		bar.red.popc.u32 %out, 0, p;
		bar.red.and.pred q, 0, p;
		@q add.u32 %out, %out, 100;
		bar.red.or.pred q, 0, p;
		@q add.u32 %out, %out, 1000;
		bar.red.and.pred q, 0, !p;
		@q add.u32 %out, %out, 100;
	`, func(int) uint32 { return 1011 })
}

func TestArriveDoesNotWait(t *testing.T) {
	expectBody(t, 64, `
		setp.ge.u32 p, %tid, 32;
		@p bra consumer;
		st.shared.u32 [shared], 3;
		bar.arrive 1, 64;
		bra done;
	consumer:
		bar.sync 1, 64;
		ld.shared.u32 %out, [shared];
	done:
	`, func(n int) uint32 { return map[bool]uint32{true: 3}[n >= 32] })
}

func TestShuffleWaitsForItsMembers(t *testing.T) {
	expectBody(t, 32, `
		mov.u32 %a, %tid;
		setp.lt.u32 p, %tid, 16;
		@p bra low;
		add.u32 %a, %a, 100;
	low:
		bar.warp.sync -1;
		@p bra again;
		add.u32 %a, %a, 100;
	again:
		shfl.sync.bfly.b32 %out, %a, 16, 31, -1;
	`, func(n int) uint32 {
		other := n ^ 16
		if other >= 16 {
			return uint32(other + 200)
		}
		return uint32(other)
	})
}

// Lanes that exchange values meet at several places if qualifiers and member masks are the same. Each lane brings what its
// own instruction reads, and gets the result in the register that this one writes.
func TestLanesExchangeAtSeveralPlaces(t *testing.T) {
	const branch = "and.b32 %a, %tid, 1; setp.eq.u32 p, %a, 0; setp.lt.u32 q, %tid, 16; " +
		"selp.b32 %c, 0xffff, 0xffff0000, q; add.u32 %b, %tid, 100; @p bra even; "
	for name, tt := range map[string]struct {
		odd, even string
		want      func(n int) uint32
	}{
		"shfl": {
			"shfl.sync.bfly.b32 %out, %b, 1, 31, -1;",
			"shfl.sync.bfly.b32 %a, %tid, 1, 31, -1; add.u32 %out, %a, 1000;",
			func(n int) uint32 { return []uint32{1000 + uint32(n) + 101, uint32(n) - 1}[n%2] },
		},
		"vote": {
			"vote.sync.ballot.b32 %out, p, -1;", "vote.sync.ballot.b32 %out, p, -1;",
			func(int) uint32 { return 0x55555555 },
		},
		"vote of a negated predicate": {
			"vote.sync.all.pred p, !p, -1; selp.b32 %out, 1, 2, p;", "vote.sync.all.pred p, p, -1; selp.b32 %out, 1, 2, p;",
			func(int) uint32 { return 1 },
		},
		"redux": {
			"redux.sync.add.u32 %out, %b, -1;", "redux.sync.add.u32 %a, %tid, -1; add.u32 %out, %a, 1;",
			func(n int) uint32 { return []uint32{2097, 2096}[n%2] },
		},
		"match": {
			"mov.u32 %b, 7; match.any.sync.b32 %out, %b, -1;", "match.any.sync.b32 %out, %tid, -1;",
			func(n int) uint32 { return []uint32{1 << n, 0xaaaaaaaa}[n%2] },
		},
		"two groups": {
			"redux.sync.add.u32 %out, %tid, %c;", "redux.sync.add.u32 %out, %tid, %c;",
			func(n int) uint32 { return []uint32{120, 376}[n/16] },
		},
		"three places": {
			"shfl.sync.idx.b32 %out, %tid, 4, 31, -1;",
			"@q bra third; shfl.sync.idx.b32 %out, %tid, 5, 31, -1; bra done; third: shfl.sync.idx.b32 %out, %b, 6, 31, -1;",
			func(n int) uint32 {
				if n%2 == 1 {
					return 104
				}
				return []uint32{106, 5}[n/16]
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expectBody(t, 32, branch+tt.odd+" bra done; even: "+tt.even+" done:", tt.want)
		})
	}
}

func TestWarpSyncFromDifferentPlaces(t *testing.T) {
	expectBody(t, 32, `
		setp.lt.u32 p, %tid, 16;
		@p bra low;
		bar.warp.sync -1;
		ld.shared.u32 %out, [shared];
		bra done;
	low:
		st.shared.u32 [shared], 4;
		bar.warp.sync -1;
		mov.u32 %out, 4;
	done:
	`, func(int) uint32 { return 4 })
}

func TestLocalMemoryIsPrivate(t *testing.T) {
	expectBody(t, 40, `
		st.local.u32 [local+4], %tid;
		mov.u64 %x, local;
		cvta.local.u64 %x, %x;
		ld.u32 %out, [%x+4];
		isspacep.local p, %x;
		@p add.u32 %out, %out, 1000;
		isspacep.shared p, %x;
		@p add.u32 %out, %out, 10000;
	`, func(n int) uint32 { return uint32(1000 + n) })
}

func TestGenericAddressesOfSharedMemory(t *testing.T) {
	expectBody(t, 32, `
		mov.u64 %x, shared;
		cvta.shared.u64 %x, %x;
		atom.add.u32 %a, [%x+8], 2;
		bar.sync 0;
		cvta.to.shared.u64 %x, %x;
		ld.shared.u32 %out, [%x+8];
	`, func(int) uint32 { return 64 })
}

func TestAtomics(t *testing.T) {
	for _, tt := range []struct {
		inst  string
		start uint32
		want  uint32
	}{
		{"atom.global.add.u32 %a, [%data+256], %tid;", 1, 1 + 31*16},
		{"red.global.add.u32 [%data+256], 2;", 1, 65},
		{"atom.global.min.s32 %a, [%data+256], -5;", 3, 0xfffffffb},
		{"atom.global.min.u32 %a, [%data+256], -5;", 3, 3},
		{"atom.global.max.s32 %a, [%data+256], -5;", 3, 3},
		{"red.global.max.u32 [%data+256], %tid;", 3, 31},
		{"atom.global.inc.u32 %a, [%data+256], 9;", 0, 2},
		{"atom.global.dec.u32 %a, [%data+256], 9;", 0, 8},
		{"atom.global.and.b32 %a, [%data+256], 6;", 5, 4},
		{"atom.global.or.b32 %a, [%data+256], %tid;", 64, 95},
		{"atom.global.xor.b32 %a, [%data+256], %tid;", 7, 7},
		{"atom.global.exch.b32 %a, [%data+256], %tid;", 7, 31},
		{
			"atom.global.cas.b32 %a, [%data+256], %tid, %tid; add.u32 %b, %tid, 1; " +
				"atom.global.cas.b32 %a, [%data+256], %tid, %b;", 0, 32,
		},
		{"atom.global.add.f32 %a, [%data+256], 0f3F800000;", 0, 0x42000000},
		{"atom.sys.relaxed.global.add.noftz.f16x2 %a, [%data+256], 0x3c004000;", 0, 0x50005400},
	} {
		t.Run(tt.inst, func(t *testing.T) {
			var mem memory
			base := mem.allocate(512)
			binary.LittleEndian.PutUint32(mem.at(base+256), tt.start)
			g := launchKernel(t, compileText(t, kernel(tt.inst)), "run", Config{Params: words(base), Memory: &mem})
			if err := finish(t, g); err != nil {
				t.Fatal(err)
			}
			if got := binary.LittleEndian.Uint32(mem.at(base + 256)); got != tt.want {
				t.Errorf("memory holds %#x, want %#x", got, tt.want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		body    string
		threads int
		kind    FaultKind
		thread  int
		text    string
	}{
		"null": {"mov.u64 %x, 0; ld.global.u32 %a, [%x];", 32, IllegalAddress, 0, "ld.global.u32 %a, [%x]"},
		"past the end": {
			"mad.wide.u32 %x, %tid, 64, %data; st.global.u32 [%x], %a;", 32, IllegalAddress, 6, "st.global.u32 [%x], %a",
		},
		"before":        {"ld.global.u32 %a, [%data+-4];", 32, IllegalAddress, 0, "ld.global.u32 %a, [%data+-4]"},
		"straddles":     {"ld.global.v4.u32 {%a, %b, %c, %out}, [%data+376];", 1, IllegalAddress, 0, "ld.global.v4.u32"},
		"misaligned":    {"ld.global.u32 %a, [%data+2];", 32, MisalignedAddress, 0, "ld.global.u32 %a, [%data+2]"},
		"misaligned v4": {"ld.global.v4.u32 {%a, %b, %c, %out}, [%data+8];", 32, MisalignedAddress, 0, "ld.global.v4.u32"},
		"shared":        {"ld.shared.u32 %a, [shared+4096];", 32, IllegalAddress, 0, "ld.shared.u32 %a, [shared+4096]"},
		"local":         {"st.local.u32 [local+64], %a;", 32, IllegalAddress, 0, "st.local.u32"},
		"param write": {
			"mov.u64 %x, out; cvta.param.u64 %x, %x; st.u32 [%x], %a;", 32, IllegalAddress, 0, "st.u32 [%x], %a",
		},
		"atomic":       {"atom.global.add.u32 %a, [%data+2], 1;", 32, MisalignedAddress, 0, "atom.global.add.u32"},
		"one lane":     {"setp.eq.u32 p, %tid, 33; @p trap;", 64, Trap, 33, "@p trap"},
		"no barrier":   {"bar.sync 16;", 32, IllegalInstruction, 0, "bar.sync 16"},
		"odd count":    {"bar.sync 1, 33;", 64, IllegalInstruction, 0, "bar.sync 1, 33"},
		"not a member": {"shfl.sync.idx.b32 %a, %tid, 0, 31, 1;", 32, IllegalInstruction, 1, "shfl.sync.idx.b32"},
		"two barriers": {"setp.lt.u32 p, %tid, 32; @p bra a; bar.sync 1; a: bar.sync 2;", 64, Deadlock, 32, "bar.sync 1"},
		"lanes part": {
			"setp.lt.u32 p, %tid, 16; @p bra a; shfl.sync.idx.b32 %a, %tid, 0, 31, -1; bra b; " +
				"a: shfl.sync.bfly.b32 %a, %tid, 0, 31, -1; b:", 32, Deadlock, 16, "shfl.sync",
		},
		"never complete": {"setp.lt.u32 p, %tid, 32; @p bar.sync 1, 64;", 64, Deadlock, 0, "bar.sync 1, 64"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runBody(t, tt.threads, tt.body)
			var fault *Fault
			if !errors.As(err, &fault) {
				t.Fatalf("got %v, want a fault", err)
			}
			if fault.Kind != tt.kind || fault.Thread != tt.thread && tt.kind != Deadlock ||
				!strings.Contains(fault.Text, tt.text) && tt.kind != Deadlock {
				t.Errorf("got %v; want a %s by thread %d at %q", err, tt.kind, tt.thread, tt.text)
			}
			if fault.Kernel != "run" || fault.Module != "test.ptx" || fault.Line == 0 {
				t.Errorf("the fault does not say where: %v", err)
			}
		})
	}
}

// A grid in which everybody polls is idle, and goes on once memory changes.
func TestSpinningGridIsIdle(t *testing.T) {
	var mem memory
	flag := mem.allocate(256)
	g := launchKernel(t, compileFile(t, "testdata/kernels.ptx"), "wait_for_flag",
		Config{Blocks: 3, Threads: 70, Params: words(flag), Memory: &mem})
	for round := range 5 {
		state, err := g.Turn(1 << 12)
		if err != nil || state != Idle {
			t.Fatalf("round %d: state %d, error %v; want idle", round, state, err)
		}
	}
	if n := g.Stats().WarpInstructions; n > 1000 {
		t.Errorf("%d instructions went into spinning; a spinning warp should give way", n)
	}
	mem.at(flag)[0] = 1
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
}

// A loop that polls and also gets something done is no spin.
func TestPollingLoopThatProgressesIsNotIdle(t *testing.T) {
	const body = `
		mov.u32 %a, 0;
	loop:
		ld.volatile.global.u32 %b, [%data+256];
		st.shared.u32 [shared], %a;
		add.u32 %a, %a, 1;
		setp.lt.u32 p, %a, 100;
		@p bra loop;
		mov.u32 %out, %a;
	`
	var mem memory
	base := mem.allocate(512)
	g := launchKernel(t, compileText(t, kernel(body)), "run", Config{Params: words(base), Memory: &mem})
	if state, err := g.Turn(1 << 12); state != Done || err != nil {
		t.Errorf("after one round: state %d, error %v; want done", state, err)
	}
}

func TestStop(t *testing.T) {
	var mem memory
	flag := mem.allocate(256)
	g := launchKernel(t, compileFile(t, "testdata/kernels.ptx"), "wait_for_flag",
		Config{Params: words(flag), Memory: &mem, Stop: func() bool { return true }})
	if _, err := g.Turn(1); !errors.Is(err, ErrStopped) {
		t.Errorf("got %v, want ErrStopped", err)
	}
}

func TestLaunchChecks(t *testing.T) {
	p := compileText(t, strings.Replace(kernel(""), "(.param .u64 out)\n", "(.param .u64 out)\n.maxntid 128, 1, 1\n", 1))
	k, _ := p.Kernel("run")
	good := Config{
		Blocks: 1, Threads: 128, Params: words(1), SMs: 1, Memory: &memory{}, Clock: &ticks{}, TensorCores: tensorcore.Of(9),
	}
	if _, err := Launch(k, good); err != nil {
		t.Fatalf("a good launch: %v", err)
	}
	for name, spoil := range map[string]func(*Config){
		"no blocks":        func(c *Config) { c.Blocks = 0 },
		"no threads":       func(c *Config) { c.Threads = 0 },
		"too many threads": func(c *Config) { c.Threads = 129 },
		"shared memory":    func(c *Config) { c.SharedBytes = MaxSharedBytes + 1 },
		"few parameters":   func(c *Config) { c.Params = c.Params[:4] },
		"no memory":        func(c *Config) { c.Memory = nil },
		"no tensor cores":  func(c *Config) { c.TensorCores.Block = 0 },
	} {
		cfg := good
		if spoil(&cfg); cfg.Check(k) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
