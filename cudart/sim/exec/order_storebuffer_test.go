package exec

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// roles is a kernel whose block 0 executes one body and whose block 1 another.
// %data is the same memory for both, %tid the thread.
func roles(first, second string) string {
	return `
.version 8.6
.target sm_100a
.address_size 64
.visible .entry run(.param .u64 out, .param .u64 mc)
{
	.reg .b64 %data, %mc, %at, %x, %y;
	.reg .b32 %tid, %block, %out, %a, %b, %c, %d;
	.reg .pred p, q;
	.shared .align 8 .b8 shared[64];
	ld.param.u64 %data, [out];
	ld.param.u64 %mc, [mc];
	mov.u32 %tid, %tid.x;
	mov.u32 %block, %ctaid.x;
	mad.wide.u32 %at, %tid, 4, %data;
	setp.eq.u32 p, %block, 1;
	@p bra second;
` + first + `
	ret;
second:
` + second + `
	ret;
}
`
}

// disturbed runs a program with many seeds and counts those after which the
// memory at its end is not as wanted.
func disturbed(t *testing.T, p *Program, blocks, threads int, fine func(data []byte) bool) (wrong int) {
	t.Helper()
	return disturbedAs(t, p, Config{Blocks: blocks, Threads: threads}, fine)
}

// disturbedAs is disturbed for a configuration.
func disturbedAs(t *testing.T, p *Program, cfg Config, fine func(data []byte) bool) (wrong int) {
	t.Helper()
	const seeds = 60
	for seed := range uint64(seeds) {
		group := &groupMemory{members: 2}
		base := group.allocate(1024)
		group.allocate(1024)
		cfg.Params, cfg.Memory, cfg.Disorder = words(base, group.address()), group, rand.New(rand.NewPCG(seed, 1))
		if err := finish(t, launchKernel(t, p, "run", cfg)); err != nil {
			t.Fatal(err)
		}
		if !fine(group.at(base)) {
			wrong++
		}
	}
	return wrong
}

// What was not released may stay unseen while others do a lot of work.
func TestStoresStayPendingForLong(t *testing.T) {
	const producer = "st.global.u32 [%at], 7; bar.sync 0; red.relaxed.sys.global.add.u32 [%data+256], 1;"
	const consumer = `
	wait:
		ld.acquire.sys.global.u32 %a, [%data+256];
		setp.lt.u32 p, %a, 32;
		@p bra wait;
		mov.u32 %c, 0;
	work:
		add.u32 %c, %c, 1;
		setp.lt.u32 p, %c, 400;
		@p bra work;
		ld.global.u32 %b, [%at];
		st.global.u32 [%at+512], %b;
	`
	wrong := disturbed(t, compileText(t, roles(producer, consumer)), 2, 32, func(data []byte) bool {
		return binary.LittleEndian.Uint32(data[512:]) == 7
	})
	if wrong == 0 {
		t.Error("all stores were seen after some work")
	}
}

// A grid whose threads have all exited may take its time to end, and what it stored to be seen.
func TestGridsLinger(t *testing.T) {
	p := compileText(t, roles("st.global.u32 [%at], 7;", ""))
	longest := 0
	for seed := range uint64(60) {
		var mem memory
		base := mem.allocate(1024)
		g := launchKernel(t, p, "run",
			Config{Blocks: 1, Threads: 1, Params: words(base, 0), Memory: &mem, Disorder: rand.New(rand.NewPCG(seed, 1))})
		unseen := 0
		for state := Running; state != Done; {
			var err error
			if state, err = g.Turn(1000); err != nil {
				t.Fatal(err)
			}
			if len(g.blocks) == 0 && binary.LittleEndian.Uint32(mem.at(base)) == 0 {
				unseen++
			}
		}
		if binary.LittleEndian.Uint32(mem.at(base)) != 7 {
			t.Errorf("seed %d: the store is lost", seed)
		}
		longest = max(longest, unseen)
	}
	if longest < 50 {
		t.Errorf("a store was not seen for %d rounds after its thread exited, at most", longest)
	}
}

// Block 0 writes data and then a flag; block 1 waits for the flag and copies
// the data. Whether the copy may be stale depends on the order between them.
func TestMessagePassing(t *testing.T) {
	const consumer = `
	wait:
		ld.acquire.sys.global.u32 %a, [%data+256];
		setp.eq.u32 p, %a, 0;
		@p bra wait;
		ld.global.u32 %b, [%at];
		st.global.u32 [%at+512], %b;
	`
	for _, tt := range []struct {
		name, producer string
		safe           bool
	}{
		{"no order", "st.global.u32 [%at], 7; st.relaxed.sys.global.u32 [%data+256], 1;", false},
		{"volatile", "st.volatile.global.u32 [%at], 7; st.volatile.global.u32 [%data+256], 1;", false},
		{"weak flag", "st.global.u32 [%at], 7; st.global.u32 [%data+256], 1;", false},
		{"release", "st.global.u32 [%at], 7; st.release.sys.global.u32 [%data+256], 1;", true},
		{"release to the GPU", "st.relaxed.gpu.global.u32 [%at], 7; st.release.gpu.global.u32 [%data+256], 1;", true},
		{"release to the block only", "st.global.u32 [%at], 7; st.release.cta.global.u32 [%data+256], 1;", false},
		{"fence", "st.global.u32 [%at], 7; fence.acq_rel.sys; st.relaxed.sys.global.u32 [%data+256], 1;", true},
		{"fence.sc", "st.global.u32 [%at], 7; fence.sc.gpu; st.relaxed.sys.global.u32 [%data+256], 1;", true},
		{"fence.acquire", "st.global.u32 [%at], 7; fence.acquire.sys; st.relaxed.sys.global.u32 [%data+256], 1;", false},
		{
			"fence for the block only", "st.global.u32 [%at], 7; fence.acq_rel.cta; st.relaxed.sys.global.u32 [%data+256], 1;",
			false,
		},
		{"membar", "st.global.u32 [%at], 7; membar.sys; st.volatile.global.u32 [%data+256], 1;", true},
		{
			"fence in the wrong place", "fence.acq_rel.sys; st.global.u32 [%at], 7; st.relaxed.sys.global.u32 [%data+256], 1;",
			false,
		},
		{"relaxed atomic", "st.global.u32 [%at], 7; red.relaxed.sys.global.add.u32 [%data+256], 1;", false},
		{"releasing atomic", "st.global.u32 [%at], 7; red.release.sys.global.add.u32 [%data+256], 1;", true},
		{"acq_rel exchange", "st.global.u32 [%at], 7; atom.acq_rel.gpu.global.exch.b32 %a, [%data+256], 1;", true},
		{"multimem.red", "st.global.u32 [%at], 7; multimem.red.relaxed.sys.global.add.u32 [%mc+256], 1;", false},
		{"releasing multimem.red", "st.global.u32 [%at], 7; multimem.red.release.sys.global.add.u32 [%mc+256], 1;", true},
		{"multimem.st", "multimem.st.weak.global.u32 [%mc], 7; multimem.st.relaxed.sys.global.u32 [%mc+256], 1;", false},
		{
			"releasing multimem.st", "multimem.st.weak.global.u32 [%mc], 7; multimem.st.release.sys.global.u32 [%mc+256], 1;",
			true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrong := disturbed(t, compileText(t, roles(tt.producer, consumer)), 2, 1, func(data []byte) bool {
				return binary.LittleEndian.Uint32(data[512:]) == 7
			})
			if (wrong == 0) != tt.safe {
				t.Errorf("stale data after %d seeds; order is kept: %v", wrong, tt.safe)
			}
		})
	}
}

// All threads of block 0 write, meet, and one of them writes the flag.
func TestBarriersAreCumulative(t *testing.T) {
	const consumer = `
	wait:
		ld.acquire.sys.global.u32 %a, [%data+256];
		setp.eq.u32 p, %a, 0;
		@p bra wait;
		ld.global.u32 %b, [%at];
		st.global.u32 [%at+512], %b;
	`
	for _, tt := range []struct {
		name    string
		threads int
		barrier string
		flag    string
		safe    bool
	}{
		{"bar.sync and release", 64, "bar.sync 0;", "st.release.sys.global.u32 [%data+256], 1;", true},
		{
			"bar.red and release", 64, "setp.eq.u32 p, %tid, 0; bar.red.and.pred q, 0, p;",
			"st.release.sys.global.u32 [%data+256], 1;", true,
		},
		{"bar.sync and fence", 64, "bar.sync 0;", "fence.acq_rel.sys; st.relaxed.sys.global.u32 [%data+256], 1;", true},
		{"bar.sync alone", 64, "bar.sync 0;", "st.relaxed.sys.global.u32 [%data+256], 1;", false},
		{"no barrier", 64, "", "st.release.sys.global.u32 [%data+256], 1;", false},
		{"bar.warp.sync and release", 32, "bar.warp.sync -1;", "st.release.sys.global.u32 [%data+256], 1;", true},
		{
			"release at .cta scope and then at .sys", 64,
			"fence.acq_rel.cta; atom.acq_rel.cta.shared.add.u32 %c, [shared], 1; " +
				"meet: ld.acquire.cta.shared.u32 %c, [shared]; setp.ne.u32 q, %c, 64; @q bra meet;",
			"st.release.sys.global.u32 [%data+256], 1;", true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			producer := "st.global.u32 [%at], 7; " + tt.barrier + " setp.ne.u32 p, %tid, 0; @p ret; " + tt.flag
			wrong := disturbed(t, compileText(t, roles(producer, consumer)), 2, tt.threads, func(data []byte) bool {
				for i := range tt.threads {
					if binary.LittleEndian.Uint32(data[512+4*i:]) != 7 {
						return false
					}
				}
				return true
			})
			if (wrong == 0) != tt.safe {
				t.Errorf("stale data after %d seeds; order is kept: %v", wrong, tt.safe)
			}
		})
	}
}

// Within a block a barrier alone makes stores visible.
func TestBarriersOrderTheBlock(t *testing.T) {
	p := compileText(t, roles(`
		st.global.u32 [%at], %tid;
		bar.sync 0;
		xor.b32 %a, %tid, 33;
		mad.wide.u32 %x, %a, 4, %data;
		ld.global.u32 %b, [%x];
		st.global.u32 [%at+512], %b;
	`, ""))
	wrong := disturbed(t, p, 1, 64, func(data []byte) bool {
		for i := range uint32(64) {
			if binary.LittleEndian.Uint32(data[512+4*i:]) != i^33 {
				return false
			}
		}
		return true
	})
	if wrong > 0 {
		t.Errorf("a neighbor's store was missed after %d seeds", wrong)
	}
}

// A thread sees its own stores, in parts and across widths, and the last of
// them is what stays.
func TestThreadsSeeTheirOwnStores(t *testing.T) {
	p := compileText(t, roles(`
		mad.wide.u32 %at, %tid, 16, %data;
		st.global.u32 [%at], 0x11111111;
		st.global.u64 [%at], 0x2222222233333333;
		st.global.u8 [%at+1], 0x44;
		st.relaxed.sys.global.u16 [%at+2], 0x5566;
		ld.global.u32 %a, [%at];
		ld.volatile.global.v2.u32 {%b, %c}, [%at];
		st.global.u32 [%at+8], %a;
		atom.global.add.u32 %d, [%at+8], 1;
		st.global.u32 [%at+12], %d;
		ld.global.u8 %c, [%at+13];
		st.global.u8 [%at+7], %c;
	`, ""))
	wrong := disturbed(t, p, 1, 40, func(data []byte) bool {
		for i := range 40 {
			row := data[16*i:]
			if binary.LittleEndian.Uint64(row) != 0x4422222255664433 ||
				binary.LittleEndian.Uint64(row[8:]) != 0x5566443355664434 {
				return false
			}
		}
		return true
	})
	if wrong > 0 {
		t.Errorf("own stores were missed after %d seeds", wrong)
	}
}

// The same seed gives the same order of warps and blocks, another one another.
func TestDisorderIsDeterministic(t *testing.T) {
	p := compileText(t, roles("", `
		atom.global.add.u32 %a, [%data], 1;
		mad.wide.u32 %x, %a, 4, %data;
		mov.u32 %b, %warpid;
		st.global.u32 [%x+4], %b;
	`))
	run := func(seed uint64) string {
		var mem memory
		base := mem.allocate(2048)
		g := launchKernel(t, p, "run", Config{
			Blocks: 2, Threads: 320, Params: words(base, 0), Memory: &mem, Disorder: rand.New(rand.NewPCG(seed, 0)),
		})
		if err := finish(t, g); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(g.Stats(), mem.at(base))
	}
	if diff := cmp.Diff(run(1), run(1)); diff != "" {
		t.Errorf("seed 1 twice (-first +second):\n%s", diff)
	}
	if run(1) == run(2) {
		t.Error("seeds 1 and 2 give the same order")
	}
}

// Any block and any warp may come first.
func TestTurnsAreRandom(t *testing.T) {
	for name, shape := range map[string][2]int{"%warpid": {2, 96}, "%ctaid.x": {3, 32}} {
		text := strings.Replace(roles("BODY", "BODY"), "BODY", `
			atom.global.exch.b32 %a, [%data], 1;
			setp.ne.u32 p, %a, 0;
			@p ret;
			mov.u32 %b, `+name+`;
			st.global.u32 [%data+4], %b;`, 2)
		p := compileText(t, text)
		first := map[uint32]int{}
		disturbed(t, p, shape[0], shape[1], func(data []byte) bool {
			first[binary.LittleEndian.Uint32(data[4:])]++
			return true
		})
		if len(first) != 3 {
			t.Errorf("these came first, so many times each, by %s: %v; want all of 0, 1, 2", name, first)
		}
	}
}

// Kernels that are right stay so.
func TestBlockSumInDisorder(t *testing.T) {
	const n = 3000
	p := compileFile(t, "testdata/kernels.ptx")
	for seed := range uint64(12) {
		var mem memory
		in, out := mem.allocate(4*n), mem.allocate(4)
		want := uint32(0)
		for i := range n {
			binary.LittleEndian.PutUint32(mem.at(in)[4*i:], uint32(i*i))
			want += uint32(i * i)
		}
		g := launchKernel(t, p, "block_sum", Config{
			Blocks: 5, Threads: 128, Params: words(in, out, n), Memory: &mem, Disorder: rand.New(rand.NewPCG(seed, 0)),
		})
		if err := finish(t, g); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(mem.at(out)); got != want {
			t.Errorf("seed %d: the sum is %d, want %d", seed, got, want)
		}
	}
}
