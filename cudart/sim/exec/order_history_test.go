package exec

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// handOver is a block that writes data and then, in order, a flag.
const handOver = "st.global.u32 [%at], 7; bar.sync 0; setp.ne.u32 p, %tid, 0; @p ret; " +
	"st.release.sys.global.u32 [%data+256], 1;"

// Block 1 waits for the flag and copies the data, which are there. Whether it may see
// what was there before depends on how it waits.
func TestStaleLoads(t *testing.T) {
	const copied = "ld.global.u32 %b, [%at]; st.global.u32 [%at+512], %b;"
	const multi = "mad.wide.u32 %x, %tid, 4, %mc; "
	poll := func(load string) string {
		return "wait: " + load + " setp.eq.u32 p, %a, 0; @p bra wait; "
	}
	relaxed := poll("ld.relaxed.sys.global.u32 %a, [%data+256];")
	for _, tt := range []struct {
		name, consumer string
		safe           bool
	}{
		{"acquire", poll("ld.acquire.sys.global.u32 %a, [%data+256];") + copied, true},
		{"acquire from the GPU", poll("ld.acquire.gpu.global.u32 %a, [%data+256];") + copied, true},
		{"acquire from the block only", poll("ld.acquire.cta.global.u32 %a, [%data+256];") + copied, false},
		{"relaxed", relaxed + copied, false},
		{"volatile", poll("ld.volatile.global.u32 %a, [%data+256];") + copied, false},
		{"fence", relaxed + "fence.acq_rel.sys; " + copied, true},
		{"fence.acquire", relaxed + "fence.acquire.gpu; " + copied, true},
		{"fence.release", relaxed + "fence.release.sys; " + copied, false},
		{"fence for the block only", relaxed + "fence.acq_rel.cta; " + copied, false},
		{"fence in the wrong place", "fence.acq_rel.sys; " + relaxed + copied, false},
		{"membar", relaxed + "membar.gl; " + copied, true},
		{"relaxed atomic", poll("atom.relaxed.sys.global.or.b32 %a, [%data+256], 0;") + copied, false},
		{"acquiring atomic", poll("atom.acquire.sys.global.or.b32 %a, [%data+256], 0;") + copied, true},
		{"acq_rel atomic", poll("atom.acq_rel.gpu.global.cas.b32 %a, [%data+256], 1, 1;") + copied, true},
		{
			"a neighbor acquires", "setp.ne.u32 q, %tid, 32; @q bra meet; " +
				poll("ld.acquire.sys.global.u32 %a, [%data+256];") + "meet: bar.sync 0; " + copied, true,
		},
		{"a neighbor does not", "setp.ne.u32 q, %tid, 32; @q bra meet; " + relaxed + "meet: bar.sync 0; " + copied, false},
		{
			"weak multimem.ld_reduce", relaxed + multi +
				"multimem.ld_reduce.weak.global.max.u32 %b, [%x]; st.global.u32 [%at+512], %b;", false,
		},
		{
			"multimem.ld_reduce behind an acquire",
			poll("ld.acquire.sys.global.u32 %a, [%data+256];") + multi +
				"multimem.ld_reduce.relaxed.sys.global.max.u32 %b, [%x]; st.global.u32 [%at+512], %b;", true,
		},
		{
			"by .nc, whatever is acquired",
			poll("ld.acquire.sys.global.u32 %a, [%data+256];") + "ld.global.nc.u32 %b, [%at]; st.global.u32 [%at+512], %b;",
			false,
		},
		{"strong loads of the data", relaxed + "ld.relaxed.sys.global.u32 %b, [%at]; st.global.u32 [%at+512], %b;", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrong := disturbed(t, compileText(t, roles(handOver, tt.consumer)), 2, 64, func(data []byte) bool {
				for i := range 64 {
					if binary.LittleEndian.Uint32(data[512+4*i:]) != 7 {
						return false
					}
				}
				return true
			})
			if (wrong == 0) != tt.safe {
				t.Errorf("stale data after %d seeds; they cannot be: %v", wrong, tt.safe)
			}
		})
	}
}

// Asynchronous copies see what the block did when they began.
func TestStaleCopies(t *testing.T) {
	copies := map[string]string{
		"cp.async": "mov.u32 %c, shared; cp.async.ca.shared.global [%c], [%at], 4; cp.async.wait_all;",
		"cp.async.bulk": `
			mov.u32 %c, shared;
			add.u32 %d, %c, 48;
			mbarrier.init.shared::cta.b64 [%d], 1;
			mbarrier.arrive.expect_tx.shared::cta.b64 %x, [%d], 16;
			cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%c], [%at], 16, [%d];
		there:
			mbarrier.test_wait.shared::cta.b64 p, [%d], %x;
			@!p bra there;`,
	}
	for name, copying := range copies {
		for order, safe := range map[string]bool{"acquire": true, "relaxed": false} {
			wait := "wait: ld." + order + ".sys.global.u32 %a, [%data+256]; setp.eq.u32 p, %a, 0; @p bra wait;"
			p := compileText(t, roles(handOver, wait+copying+"ld.shared.u32 %b, [%c]; st.global.u32 [%at+512], %b;"))
			wrong := disturbed(t, p, 2, 1, func(data []byte) bool { return binary.LittleEndian.Uint32(data[512:]) == 7 })
			if (wrong == 0) != safe {
				t.Errorf("%s after %s: stale after %d seeds", name, order, wrong)
			}
		}
	}
}

// What has been seen, or written by the same thread, is not unseen later, although nothing was
// acquired: block 0 stores a word, and block 1 copies it.
func TestNothingIsUnseen(t *testing.T) {
	const store = "setp.ne.u32 p, %tid, 0; @p ret; st.relaxed.gpu.global.u32 [%data], 7;"
	const poll = "wait: ld.relaxed.gpu.global.u32 %a, [%data]; setp.eq.u32 p, %a, 0; @p bra wait;"
	const result = "st.global.u32 [%data+512], %b;"
	for name, tt := range map[string]struct{ first, second string }{
		"by the same thread": {store, poll + "ld.global.u32 %b, [%data];" + result},
		"by a neighbor": {
			store,
			"setp.ne.u32 p, %tid, 0; @p bra meet;" + poll +
				"meet: bar.sync 0; setp.ne.u32 p, %tid, 40; @p ret; ld.global.u32 %b, [%data];" + result,
		},
		"by a copy": {
			store,
			poll + "mov.u32 %c, shared; cp.async.ca.shared.global [%c], [%data], 4; cp.async.wait_all; ld.shared.u32 %b, [%c];" +
				result,
		},
		"by multimem.ld_reduce": {
			store,
			"wait: multimem.ld_reduce.relaxed.sys.global.max.u32 %a, [%mc]; setp.eq.u32 p, %a, 0; @p bra wait;" +
				"multimem.ld_reduce.relaxed.sys.global.max.u32 %b, [%mc];" + result,
		},
		"by a bulk load behind a bulk store": {"", `
			setp.ne.u32 p, %tid, 0;
			@p ret;
			mov.u32 %c, shared;
			st.shared.u32 [%c], 7;
			fence.proxy.async;
			cp.async.bulk.global.shared::cta.bulk_group [%data], [%c], 16;
			cp.async.bulk.commit_group;
			cp.async.bulk.wait_group 0;
			add.u32 %d, %c, 48;
			mbarrier.init.shared::cta.b64 [%d], 1;
			mbarrier.arrive.expect_tx.shared::cta.b64 %x, [%d], 16;
			add.u32 %c, %c, 16;
			cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%c], [%data], 16, [%d];
		there:
			mbarrier.test_wait.shared::cta.b64 p, [%d], %x;
			@!p bra there;
			ld.shared.u32 %b, [%c];` + result},
	} {
		p := compileText(t, roles(tt.first, tt.second))
		if wrong := disturbed(t, p, 2, 64,
			func(data []byte) bool { return binary.LittleEndian.Uint32(data[512:]) == 7 }); wrong > 0 {
			t.Errorf("%s: stale after %d seeds", name, wrong)
		}
	}
}

// What a block has written it sees, over what others wrote before and after, whatever it
// has acquired: block 0 writes bytes 0 to 7, block 1 then bytes 2 and 3, and adds to the
// second word.
func TestStaleLoadsSeeTheBlocksOwnWrites(t *testing.T) {
	p := compileText(t, roles(`
		st.global.u64 [%data], 0x1111111111111111;
		st.release.sys.global.u32 [%data+256], 1;
	`, `
	wait:
		ld.relaxed.sys.global.u32 %a, [%data+256];
		setp.eq.u32 p, %a, 0;
		@p bra wait;
		st.global.u16 [%data+2], 0x2222;
		atom.relaxed.sys.global.add.u32 %b, [%data+4], 1;
		fence.release.sys;
		ld.global.u64 %x, [%data];
		st.global.u64 [%data+512], %x;
	`))
	seen := map[uint64]int{}
	disturbed(t, p, 2, 1, func(data []byte) bool {
		seen[binary.LittleEndian.Uint64(data[512:])]++
		return true
	})
	const fresh, stale = 0x11111112_22221111, 0x11111112_22220000
	if seen[fresh] == 0 || seen[stale] == 0 || len(seen) != 2 {
		t.Errorf("%#x; want %#x and %#x", seen, uint64(fresh), uint64(stale))
	}
}

// A kernel that began before the one before it had ended sees what that left once it has
// waited for it. What others than grids are about to write is noted.
func TestStaleLoadsOfDependentKernels(t *testing.T) {
	const poll = "wait: ld.relaxed.sys.global.u32 %a, [%data+256]; setp.eq.u32 p, %a, 0; @p bra wait; "
	for _, tt := range []struct {
		wait, load string
		safe       bool
	}{
		{"griddepcontrol.wait;", "ld.global.u32 %b, [%at];", true},
		{"griddepcontrol.wait;", "ld.global.nc.u32 %b, [%at];", true},
		{"", "ld.global.u32 %b, [%at];", false},
		{"", "ld.global.nc.u32 %b, [%at];", false},
	} {
		p := compileText(t, roles(poll+tt.wait+tt.load+"st.global.u32 [%at+512], %b;", ""))
		wrong := 0
		for seed := range uint64(20) {
			if overtaken(t, p, seed) != 7 {
				wrong++
			}
		}
		if (wrong == 0) != tt.safe {
			t.Errorf("%s %s stale after %d seeds", tt.wait, tt.load, wrong)
		}
	}
}

// overtaken runs a program that has begun when somebody else writes 7 and then a flag, and
// returns what it copied.
func overtaken(t *testing.T, p *Program, seed uint64) uint32 {
	t.Helper()
	var mem memory
	base := mem.allocate(1024)
	history := &History{}
	g := launchKernel(t, p, "run", Config{
		Blocks: 1, Threads: 1, Params: words(base, 0), Memory: &mem, Disorder: rand.New(rand.NewPCG(seed, 0)),
		History: history,
	})
	if _, err := g.Turn(100); err != nil {
		t.Fatal(err)
	}
	r, _ := mem.Resolve(base)
	history.Record(r, 0, 512)
	binary.LittleEndian.PutUint32(mem.at(base), 7)
	binary.LittleEndian.PutUint32(mem.at(base+256), 1)
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(mem.at(base + 512))
}
