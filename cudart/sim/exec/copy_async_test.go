package exec

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/ptx"
)

// copyKernel wraps a body in which %data is the address of 4096 bytes whose
// words count up from 1, and %out that of 4096 zeroes.
func copyKernel(body string) string {
	return `
.version 8.6
.target sm_90
.address_size 64
.visible .entry run(.param .u64 data, .param .u64 out)
{
	.reg .b64 %data, %out, %from, %to, %state;
	.reg .b32 %tid, %a, %b, %c, %d, %s, %bar;
	.reg .pred p, first;
	.shared .align 128 .b8 tile[2048];
	.shared .align 8 .b8 barrier[16];
	ld.param.u64 %data, [data];
	ld.param.u64 %out, [out];
	mov.u32 %tid, %tid.x;
	mov.u32 %bar, barrier;
	mov.u32 %s, tile;
	mad.lo.u32 %s, %tid, 16, %s;
	mad.wide.u32 %from, %tid, 16, %data;
	mad.wide.u32 %to, %tid, 16, %out;
	setp.eq.u32 first, %tid, 0;
	` + body + `
	ret;
}
`
}

// runCopy runs a body with so many threads and returns the output's words.
func runCopy(t *testing.T, threads int, disorder *rand.Rand, body string) ([]uint32, error) {
	t.Helper()
	var mem memory
	data, out := mem.allocate(4096), mem.allocate(4096)
	for i := range uint32(1024) {
		binary.LittleEndian.PutUint32(mem.at(data)[4*i:], i+1)
	}
	g := launchKernel(t, compileText(t, copyKernel(body)), "run",
		Config{Threads: threads, Params: words(data, out), Memory: &mem, Disorder: disorder})
	err := finish(t, g)
	got := make([]uint32, 1024)
	for i := range got {
		got[i] = binary.LittleEndian.Uint32(mem.at(out)[4*i:])
	}
	return got, err
}

// copyBodies copy the first words of the data, by 64 threads.
var copyBodies = map[string]struct {
	body  string
	words int
}{
	"cp.async": {`
		cp.async.cg.shared.global [%s], [%from], 16;
		cp.async.commit_group;
		cp.async.wait_group 0;
		ld.shared.v4.b32 {%a, %b, %c, %d}, [%s];
		st.global.v4.b32 [%to], {%a, %b, %c, %d};
	`, 256},
	"cp.async to a neighbor": {`
		cp.async.ca.shared.global.L2::128B [%s], [%from], 16;
		cp.async.wait_all;
		bar.sync 0;
		xor.b32 %tid, %tid, 63;
		mov.u32 %s, tile;
		mad.lo.u32 %s, %tid, 16, %s;
		mad.wide.u32 %to, %tid, 16, %out;
		ld.shared.v4.b32 {%a, %b, %c, %d}, [%s];
		st.global.v4.b32 [%to], {%a, %b, %c, %d};
	`, 256},
	"two groups in order": {`
		cp.async.ca.shared.global [%s], [%from], 8;
		cp.async.commit_group;
		cp.async.ca.shared.global [%s+8], [%from+8], 8;
		cp.async.commit_group;
		cp.async.wait_group 1;
		ld.shared.v2.b32 {%a, %b}, [%s];
		cp.async.wait_group 0;
		ld.shared.v2.b32 {%c, %d}, [%s+8];
		st.global.v4.b32 [%to], {%a, %b, %c, %d};
	`, 256},
	"bulk, in and out": {`
		@!first bra in;
		mbarrier.init.shared::cta.b64 [barrier], 1;
		fence.mbarrier_init.release.cluster;
		fence.proxy.async.shared::cta;
		mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 1024;
		cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%data], 1024, [%bar];
	in:
		bar.sync 0;
	wait:
		mbarrier.try_wait.parity.shared::cta.b64 p, [barrier], 0;
		@!p bra wait;
		ld.shared.b32 %a, [%s];
		add.u32 %a, %a, 100;
		sub.u32 %a, %a, 100;
		st.shared.b32 [%s], %a;
		fence.proxy.async;
		bar.sync 0;
		@!first bra done;
		cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 1024;
		cp.async.bulk.commit_group;
		cp.async.bulk.wait_group.read 0;
		cp.async.bulk.wait_group 0;
	done:
	`, 256},
	"bulk, a ring of phases": {`
		@!first bra done;
		mbarrier.init.shared.b64 [barrier], 1;
		mov.u32 %b, 0;
	next:
		mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %state, [barrier], 256;
		cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%data], 256, [barrier];
	wait:
		mbarrier.test_wait.acquire.cta.shared::cta.b64 p, [barrier], %state;
		@!p bra wait;
		cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 256;
		cp.async.bulk.commit_group;
		cp.async.bulk.wait_group 0;
		add.u64 %data, %data, 256;
		add.u64 %out, %out, 256;
		add.u32 %b, %b, 1;
		setp.lt.u32 p, %b, 4;
		@p bra next;
	done:
	`, 256},
}

func TestAsyncCopies(t *testing.T) {
	for name, tt := range copyBodies {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(12) {
				var disorder *rand.Rand
				if seed > 0 {
					disorder = rand.New(rand.NewPCG(seed, 0))
				}
				got, err := runCopy(t, 64, disorder, tt.body)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range got {
					if want := uint32(i + 1); i < tt.words && v != want || i >= tt.words && v != 0 {
						t.Fatalf("seed %d: word %d is %d", seed, i, v)
					}
				}
			}
		})
	}
}

// Who does not wait sees what was there before.
func TestAsyncCopiesMustBeWaitedFor(t *testing.T) {
	for _, start := range []string{
		"cp.async.cg.shared.global [%s], [%from], 16; cp.async.commit_group; cp.async.wait_group 1;",
		"cp.async.cg.shared.global [%s], [%from], 16; cp.async.wait_group 0;",
		"mbarrier.init.shared.b64 [barrier], 1; cp.async.cg.shared.global [%s], [%from], 16; " +
			"cp.async.mbarrier.arrive.shared.b64 [barrier];",
		"mbarrier.init.shared.b64 [barrier], 1; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], " +
			"[%data], 16, [barrier];",
	} {
		got, err := runCopy(t, 1, nil, start+"ld.shared.b32 %a, [%s]; st.global.b32 [%to], %a;")
		if err != nil || got[0] != 0 {
			t.Errorf("%s: got %d, error %v; want 0", start, got[0], err)
		}
	}
}

func TestAsyncCopyFillsWithZeroes(t *testing.T) {
	got, err := runCopy(t, 1, nil, `
		st.shared.v4.b32 [%s], {9, 9, 9, 9};
		cp.async.ca.shared.global [%s], [%from], 16, 6;
		cp.async.wait_all;
		ld.shared.v4.b32 {%a, %b, %c, %d}, [%s];
		add.u32 %b, %b, 5;
		st.global.v4.b32 [%to], {%a, %b, %c, %d};
	`)
	if err != nil || [4]uint32(got[:4]) != [4]uint32{1, 7, 0, 0} {
		t.Errorf("got %v, %v; want 1 7 0 0", got[:4], err)
	}
}

// An mbarrier lets threads meet, again and again.
func TestMbarrierJoinsThreads(t *testing.T) {
	got, err := runCopy(t, 96, nil, `
		@first mbarrier.init.shared::cta.b64 [barrier], 96;
		bar.sync 0;
		mov.u32 %b, 0;
		mov.u32 %c, tile;
	again:
		atom.shared.add.u32 %a, [%c], 1;
		mbarrier.arrive.shared::cta.b64 %state, [barrier];
	wait:
		mbarrier.try_wait.shared::cta.b64 p, [barrier], %state, 1000;
		@!p bra wait;
		ld.volatile.shared.u32 %a, [%c];
		add.u32 %c, %c, 4;
		add.u32 %b, %b, 1;
		setp.lt.u32 p, %b, 3;
		@p bra again;
		mad.wide.u32 %to, %tid, 4, %out;
		st.global.u32 [%to], %a;
	`)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 96 {
		if got[i] != 96 {
			t.Fatalf("thread %d saw %d arrivals in the last round, want 96", i, got[i])
		}
	}
}

func TestAsyncFaults(t *testing.T) {
	const bulk = "mbarrier.init.shared.b64 [barrier], 1; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
	for body, want := range map[string]struct {
		kind FaultKind
		text string
	}{
		bulk + "[%s], [%data+8], 16, [barrier];":       {MisalignedAddress, "multiple of 16"},
		bulk + "[%s], [%data], 24, [barrier];":         {IllegalInstruction, "24 bytes"},
		bulk + "[%s], [%data+4080], 32, [barrier];":    {IllegalAddress, "allocation of 4096 bytes"},
		bulk + "[%s+2048], [%data], 32768, [barrier];": {IllegalAddress, "32768 bytes"},
		bulk + "[%s], [%data], 16, [barrier+8];":       {IllegalInstruction, "not initialized"},
		"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%s], [%s+32], 16, [barrier];": {
			IllegalInstruction, "needs a launch with clusters",
		},
		"cp.async.ca.shared.global [%s+4], [%data], 8;":        {MisalignedAddress, "multiple of 8"},
		"mbarrier.arrive.shared.b64 _, [barrier];":             {IllegalInstruction, "more threads"},
		"mbarrier.init.shared.b64 [barrier], 0;":               {IllegalInstruction, "so many threads"},
		"mbarrier.expect_tx.shared.b64 [barrier], 0x7fffffff;": {IllegalInstruction, "so many bytes"},
	} {
		_, err := runCopy(t, 1, nil, body)
		var fault *Fault
		if !errors.As(err, &fault) || fault.Kind != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v, want %v about %q", body, err, want.kind, want.text)
		}
	}
}

func TestAsyncRefusals(t *testing.T) {
	for body, want := range map[string]string{
		"cp.async.bulk.shared::cta.shared::cta.mbarrier::complete_tx::bytes [%s], [%s], 16, [barrier];": "not implemented",
		"cp.async.bulk.global.shared::cta.bulk_group.multicast::cluster [%out], [%s], 16, 1;":           "not implemented",
		"cp.async.wait_group %a;":                                                                                          "literal",
		"cp.async.mbarrier.arrive.global.b64 [%data];":                                                                     "shared memory",
		"cp.async.bulk.prefetch.global [%data], 16;":                                                                       "needs .L2",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.b32 [%out], [%s], 16;":                                     "no .add of .b32",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%out], [%s], 16;":                                     ".noftz",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.inc.u64 [%out], [%s], 16;":                                     "no .inc of .u64",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.u32 [%out], [%s], 16;":                                         "needs an operation",
		"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 [%s], [%s], 16, [barrier];": "no .add of .f32",
		"cp.reduce.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.add.u32 [%s], [%data], 16, [barrier];":   "not implemented",
		"cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], [%s], 16, 7;":                                         "sm_100",
		"mbarrier.arrive_drop.shared::cluster.b64 %state, [barrier];":                                                      "must not ask for the state",
		"mbarrier.init.global.b64 [%data], 1;":                                                                             "shared memory",
		"fence.proxy.tensormap::generic.acquire.gpu [%out], 64;":                                                           "literal 128",
		"fence.proxy.tensormap::generic.acquire [%out], 128;":                                                              "a scope",
		"fence.proxy.generic;": "proxies",
		"tensormap.replace.tile.rank.global.b1024.b32 [%out], 1;":                                                   "sm_90a",
		"tensormap.cp_fenceproxy.shared::cta.global.tensormap::generic.release.gpu.sync.aligned [%s], [%out], 128;": "not implemented",
	} {
		m, err := ptx.Parse("refused.ptx", []byte(copyKernel(body)))
		if err == nil {
			_, err = Compile(m)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %q", body, err, want)
		}
	}
}

// Another block sees what a bulk copy brought to global memory if it was waited for in
// full before the flag.
func TestBulkStoreIsSeenOnceWritten(t *testing.T) {
	pass := func(wait string) (lost int) {
		for _, disorder := range seeds(30) {
			var mem memory
			data, out := mem.allocate(4096), mem.allocate(4096)
			p := compileText(t, copyKernel(`
				mov.u32 %b, %ctaid.x;
				setp.ne.u32 p, %b, 0;
				@p bra wait;
				st.shared.u32 [%s], 77;
				fence.proxy.async.shared::cta;
				cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 16;
				cp.async.bulk.commit_group;
			`+wait+`
				st.release.gpu.global.u32 [%out+64], 1;
				bra done;
			wait:
				ld.acquire.gpu.global.u32 %a, [%out+64];
				setp.eq.u32 p, %a, 0;
				@p bra wait;
				ld.global.u32 %a, [%out];
				st.global.u32 [%out+128], %a;
			done:
			`))
			g := launchKernel(t, p, "run",
				Config{Blocks: 2, Threads: 1, Params: words(data, out), Memory: &mem, Disorder: disorder})
			if err := finish(t, g); err != nil {
				t.Fatal(err)
			}
			if binary.LittleEndian.Uint32(mem.at(out)[128:]) != 77 {
				lost++
			}
		}
		return lost
	}
	if n := pass("cp.async.bulk.wait_group 0;"); n > 0 {
		t.Errorf("%d copies that were waited for were not seen", n)
	}
	for _, wait := range []string{"", "cp.async.bulk.wait_group 1;", "cp.async.bulk.wait_group.read 0;"} {
		if pass(wait) == 0 {
			t.Errorf("with %q no seed finds that the copy is signaled too early", wait)
		}
	}
}
