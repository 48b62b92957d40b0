package exec

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/ptx"
)

// clusterKernel wraps a body for clusters: %out has room for 64 words, %slot is
// the address of a word for each thread, %peer that of the thread's in the next
// block.
func clusterKernel(body string) string {
	return `
.version 8.0
.target sm_90a
.address_size 64
.visible .entry run(.param .u64 out)
{
	.reg .b64 %out, %far;
	.reg .b32 %thread, %rank, %size, %next, %slot, %peer, %v, %w;
	.reg .pred p, first, odd;
	.shared .align 16 .b8 slots[1024];
	.shared .align 8 .b8 barrier[8];
	ld.param.u64 %out, [out];
	mov.u32 %thread, %tid.x;
	mov.u32 %rank, %cluster_ctarank;
	mov.u32 %size, %cluster_nctarank;
	add.u32 %next, %rank, 1;
	rem.u32 %next, %next, %size;
	mov.u32 %slot, slots;
	mad.lo.u32 %slot, %thread, 4, %slot;
	mapa.shared::cluster.u32 %peer, %slot, %next;
	setp.eq.u32 first, %thread, 0;
	setp.eq.u32 odd, %rank, 1;
	mov.u32 %v, %ctaid.x;
	mul.wide.u32 %far, %v, 4;
	add.u64 %out, %out, %far;
	` + body + `
	ret;
}
`
}

const meet = "barrier.cluster.arrive; barrier.cluster.wait;\n"

// runCluster runs a body in clusters of 2 and returns a word of each block.
func runCluster(t *testing.T, blocks, threads int, disorder *rand.Rand, body string) ([]uint32, error) {
	t.Helper()
	var mem memory
	out := mem.allocate(256)
	g := launchKernel(t, compileText(t, clusterKernel(body)), "run",
		Config{Blocks: blocks, Threads: threads, Cluster: 2, Params: words(out), Memory: &mem, Disorder: disorder})
	err := finish(t, g)
	got := make([]uint32, blocks)
	for i := range got {
		got[i] = binary.LittleEndian.Uint32(mem.at(out)[4*i:])
	}
	return got, err
}

// seeds are no disorder, and some.
func seeds(n uint64) []*rand.Rand {
	all := []*rand.Rand{nil}
	for seed := range n {
		all = append(all, rand.New(rand.NewPCG(seed, 1)))
	}
	return all
}

func TestClusterBarrierHoldsBack(t *testing.T) {
	for i, disorder := range seeds(8) {
		// Each block passes its number on, 20 times, and waits twice each time: until
		// all have read, and until all have written.
		got, err := runCluster(t, 4, 96, disorder, `
			mov.u32 %v, %ctaid.x;
			st.shared.u32 [%slot], %v;
			mov.u32 %w, 0;
		again:
			`+meet+`
			ld.shared::cluster.u32 %v, [%peer];
			barrier.cluster.arrive.relaxed.aligned;
			barrier.cluster.wait.acquire.aligned;
			st.shared.u32 [%slot], %v;
			add.u32 %w, %w, 1;
			setp.lt.u32 p, %w, 21;
			@p bra again;
			`+meet+`
			@first st.global.u32 [%out], %v;
		`)
		if err != nil || [4]uint32(got) != [4]uint32{1, 0, 3, 2} {
			t.Fatalf("seed %d: got %v, %v", i, got, err)
		}
	}
}

// Lanes of a warp may come to the barrier one after the other, and need not come
// at all once they have exited.
func TestClusterBarrierCountsThreads(t *testing.T) {
	for i, disorder := range seeds(4) {
		got, err := runCluster(t, 2, 64, disorder, `
			setp.lt.u32 p, %thread, 5;
			@p bra late;
			setp.gt.u32 p, %thread, 40;
			@p ret;
			barrier.cluster.arrive.release;
			@odd ret;
			bra wait;
		late:
			st.shared.u32 [%slot], 7;
			barrier.cluster.arrive.release;
		wait:
			barrier.cluster.wait.acquire;
			ld.shared::cluster.u32 %v, [%peer];
			@first st.global.u32 [%out], %v;
			setp.ge.u32 p, %thread, 5;
			@p ret;
			`+meet)
		if err != nil || [2]uint32(got) != [2]uint32{7, 7} {
			t.Fatalf("seed %d: got %v, %v", i, got, err)
		}
	}
}

func TestClusterFaults(t *testing.T) {
	for body, want := range map[string]struct {
		kind FaultKind
		text string
	}{
		"ld.shared::cluster.u32 %v, [%peer];": {
			IllegalAddress, "may not have begun",
		},
		meet + "@odd ret; wait: ld.volatile.shared::cluster.u32 %v, [%peer]; bra wait;": {IllegalAddress, "has exited"},
		meet + "ld.shared.u32 %v, [%peer];" +
			meet: {IllegalAddress, "takes .shared::cluster"},
		meet + "st.shared::cta.u32 [%peer], %v;" +
			meet: {IllegalAddress, "takes .shared::cluster"},
		meet + "st.shared::cluster.u32 [%peer+4096], %v;" + meet: {IllegalAddress, "no 4 bytes"},
		meet + "mbarrier.arrive.shared::cta.b64 _, [%peer];" +
			meet: {IllegalAddress, "takes .shared::cluster"},
		meet + "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%peer];" +
			meet: {IllegalInstruction, "more threads"},
		"mapa.shared::cluster.u32 %v, %slot, 2;": {
			IllegalInstruction, "block 2 of a cluster of 2",
		},
		"mapa.shared::cluster.u32 %v, %peer, 0;":          {IllegalAddress, "takes .shared::cluster"},
		"mapa.u64 %far, %out, 0;":                         {IllegalAddress, "no address in shared memory"},
		"barrier.cluster.arrive; barrier.cluster.arrive;": {IllegalInstruction, "again before it has waited"},
		"barrier.cluster.wait;":                           {IllegalInstruction, "without having arrived"},
		"@first bra skip; barrier.cluster.arrive; barrier.cluster.wait; skip: bar.sync 0;": {Deadlock, "no thread can go on"},
	} {
		_, err := runCluster(t, 2, 32, nil, body)
		var fault *Fault
		if !errors.As(err, &fault) || fault.Kind != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v, want %v about %q", body, err, want.kind, want.text)
		}
	}
}

// A thread that arrives at a neighbor's mbarrier has what it stored before seen
// by who waits there, if it releases to the cluster.
func TestRemoteArrivalReleases(t *testing.T) {
	pass := func(disorder *rand.Rand, scope string) (uint32, error) {
		got, err := runCluster(t, 2, 1, disorder, `
			mbarrier.init.shared::cta.b64 [barrier], 1;
			`+meet+`
			@odd bra wait;
			st.global.u32 [%out+128], 5;
			mov.u32 %v, barrier;
			mapa.shared::cluster.u32 %v, %v, 1;
			mbarrier.arrive.release.`+scope+`.shared::cluster.b64 _, [%v];
			bra done;
		wait:
			mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [barrier], 0, 100;
			@!p bra wait;
			ld.global.u32 %v, [%out+124];
			st.global.u32 [%out], %v;
		done:
			`+meet)
		return got[1], err
	}
	lost := 0
	for seed := range uint64(60) {
		if got, err := pass(rand.New(rand.NewPCG(seed, 2)), "cluster"); got != 5 || err != nil {
			t.Fatalf("seed %d: got %d, %v", seed, got, err)
		}
		got, err := pass(rand.New(rand.NewPCG(seed, 2)), "cta")
		if err != nil {
			t.Fatal(err)
		}
		if got != 5 {
			lost++
		}
	}
	if lost == 0 {
		t.Error("a release at .cta scope was always seen by the other block")
	}
}

// The cluster's barrier releases what threads stored, unless it is relaxed.
func TestClusterBarrierReleases(t *testing.T) {
	pass := func(order string) (lost int) {
		for _, disorder := range seeds(40) {
			got, err := runCluster(t, 2, 1, disorder, `
				@!odd st.global.u32 [%out+128], 5;
				barrier.cluster.arrive`+order+`;
				barrier.cluster.wait;
				@!odd bra done;
				ld.global.u32 %v, [%out+124];
				st.global.u32 [%out], %v;
			done:
			`)
			if err != nil {
				t.Fatal(err)
			}
			if got[1] != 5 {
				lost++
			}
		}
		return lost
	}
	if n := pass(".release") + pass(""); n > 0 {
		t.Errorf("%d stores before the barrier were not seen after it", n)
	}
	if n := pass(".relaxed"); n == 0 {
		t.Error("a relaxed arrival has always released")
	}
}

// The memory that a launch asks for begins where its declaration wants it.
func TestDynamicSharedMemoryIsAligned(t *testing.T) {
	p := compileText(t, `
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 tiles[];
.visible .entry run(.param .u64 out)
{
	.reg .b64 %out;
	.reg .b32 %v;
	.shared .align 8 .b8 barrier[24];
	ld.param.u64 %out, [out];
	mov.u32 %v, barrier;
	st.shared.u32 [tiles], %v;
	mov.u32 %v, tiles;
	st.global.u32 [%out], %v;
	ret;
}
`)
	var mem memory
	out := mem.allocate(256)
	if err := finish(t, launchKernel(t, p, "run",
		Config{SharedBytes: 2048, Params: words(out), Memory: &mem})); err != nil {
		t.Fatal(err)
	}
	if at := binary.LittleEndian.Uint32(mem.at(out)); at != 1024 {
		t.Errorf("dynamic shared memory begins at %d", at)
	}
}

func TestWarpgroupInstructions(t *testing.T) {
	for body, want := range map[string]string{
		"setmaxnreg.dec.sync.aligned.u32 24; setmaxnreg.inc.sync.aligned.u32 256;": "",
		"@first setmaxnreg.dec.sync.aligned.u32 40;":                               "not all lanes",
		"setp.lt.u32 p, %thread, 32; @p bra a; setmaxnreg.inc.sync.aligned.u32 232; ret; " +
			"a: setmaxnreg.dec.sync.aligned.u32 40;": "ask for",
		"setp.lt.u32 p, %thread, 128; @p bra a; setmaxnreg.inc.sync.aligned.u32 232; ret; " +
			"a: setmaxnreg.dec.sync.aligned.u32 40;": "",
	} {
		_, err := runCluster(t, 2, 256, nil, body)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}

// One of the members is elected, the same one every time.
func TestElect(t *testing.T) {
	got, err := runCluster(t, 2, 32, nil, `
		setp.lt.u32 p, %thread, 3;
		@p bra done;
		mov.u32 %v, 0;
		mov.u32 %w, 0;
	again:
		elect.sync %slot|p, 0xfffffff8;
		@p atom.global.add.u32 %peer, [%out], %slot;
		add.u32 %w, %w, 1;
		setp.lt.u32 p, %w, 4;
		@p bra again;
	done:
	`)
	if err != nil || [2]uint32(got) != [2]uint32{12, 12} {
		t.Errorf("got %v, %v; want lane 3 elected 4 times", got, err)
	}
}

// A grid of clusters needs the sizes of blocks and clusters, and a target that has it.
func TestClusterGridRefusals(t *testing.T) {
	for directives, want := range map[string]string{
		".version 9.0\n.target sm_90\n|.reqntid 32 .blocksareclusters":                      "needs .reqntid and .reqnctapercluster",
		".version 9.0\n.target sm_90\n|.reqnctapercluster 2 .blocksareclusters":             "needs .reqntid and .reqnctapercluster",
		".version 8.8\n.target sm_90\n|.reqntid 32 .reqnctapercluster 2 .blocksareclusters": "PTX 9.0",
		".version 9.0\n.target sm_80\n|.reqntid 32 .reqnctapercluster 2 .blocksareclusters": "sm_90",
	} {
		head, entry, _ := strings.Cut(directives, "|")
		m, err := ptx.Parse("refused.ptx", []byte(head+".entry k() "+entry+" { ret; }"))
		if err == nil {
			_, err = Compile(m)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error about %q", directives, err, want)
		}
	}
}
