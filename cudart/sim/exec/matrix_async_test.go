package exec

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// runOnes multiplies matrices of ones: every accumulator, one at first, is 17 after
// a multiplication, 33 after two. It returns the accumulators of warp 0's lane 0.
func runOnes(t *testing.T, threads int, disorder *rand.Rand, body string) ([]float32, error) {
	t.Helper()
	var mem memory
	base := mem.allocate(32768 + 512*132)
	image, accumulators := mem.at(base), mem.at(base+32768)
	for i := range len(image) / 2 {
		binary.LittleEndian.PutUint16(image[2*i:], 0x3f80)
	}
	for i := range 512 {
		binary.LittleEndian.PutUint32(accumulators[4*i:], math.Float32bits(1))
		binary.LittleEndian.PutUint32(accumulators[512*128+4*i:], 0x3f803f80)
	}
	// Twos instead of ones in what the thread has filled of A.
	const store = `mov.u32 %s, tile; mad.lo.u32 %s, %tid, 16, %s; mov.u32 %x, 0x40004000;
		st.shared.v4.b32 [%s], {%x, %x, %x, %x};`
	body = strings.NewReplacer(
		"MULTIPLY", "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, %descA, %descB, yes, 1, 1, "+
			"0, 0;",
		"MULTA", "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %descB, "+
			"yes, 1, 1, 0;",
		"FENCE", "wgmma.fence.sync.aligned;", "COMMIT", "wgmma.commit_group.sync.aligned;", "WAIT",
		"wgmma.wait_group.sync.aligned",
		"OVERWRITE", store+"fence.proxy.async;", "STORE", store,
	).Replace(body)
	a, b := dense(false, 0, 0, 64), dense(false, 0, startOfB, 8)
	g := launchKernel(t, compileText(t, wgmmaKernel(4, body)), "run",
		Config{Threads: threads, Params: words(base, a.bits(), b.bits()), Memory: &mem, Disorder: disorder})
	err := finish(t, g)
	var got []float32
	for i := range 4 {
		got = append(got, math.Float32frombits(binary.LittleEndian.Uint32(accumulators[512*i:])))
	}
	return got, err
}

// What goes on between issue and wait may be seen or not; without disorder a
// multiplication is done when it is waited for.
func TestWGMMAIsAsynchronous(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       float32          // without disorder
		may        map[float32]bool // with, all of them; nil for nothing else
	}{
		{"waits", "FENCE MULTIPLY COMMIT WAIT 0;", 17, nil},
		{"two in order", "FENCE MULTIPLY MULTIPLY COMMIT WAIT 0;", 33, nil},
		{"two groups", "FENCE MULTIPLY COMMIT MULTIPLY COMMIT WAIT 1; WAIT 0;", 33, nil},
		{"does not wait", "FENCE MULTIPLY COMMIT", 1, map[float32]bool{1: true, 17: true}},
		{
			"waits for the first of two", "FENCE MULTIPLY COMMIT MULTIPLY COMMIT WAIT 1;", 17,
			map[float32]bool{17: true, 33: true},
		},
		{"does not commit", "FENCE MULTIPLY WAIT 0;", 1, map[float32]bool{1: true, 17: true}},
		{"overwrites an operand", "FENCE MULTIPLY COMMIT OVERWRITE WAIT 0;", 33, map[float32]bool{17: true, 33: true}},
		{"overwrites it after the wait", "FENCE MULTIPLY COMMIT WAIT 0; OVERWRITE", 17, nil},
		{"overwrites it after another warp's wait", `FENCE MULTIPLY COMMIT
			setp.lt.u32 p, %tid, 64;
			@p bra wait;
			WAIT 0;
			xor.b32 %tid, %tid, 127;
			OVERWRITE
			bra done;
		wait:
			nanosleep.u32 1;
			WAIT 0;
		done:`, 17, nil},
		{"zeroes with a fence", "FENCE MULTIPLY COMMIT WAIT 0; mov.b32 %d0, 0; FENCE MULTIPLY COMMIT WAIT 0;", 16, nil},
		{"a warp is late", `setp.lt.u32 p, %tid, 32;
			@!p bra start;
			nanosleep.u32 1; nanosleep.u32 1;
		start: FENCE MULTIPLY COMMIT WAIT 0;`, 17, nil},
		{"fences what it stores", "STORE fence.proxy.async; bar.sync 0; FENCE MULTIPLY COMMIT WAIT 0;", 33, nil},
		{
			"fences what the block stores",
			"STORE bar.sync 0; setp.eq.u32 p, %tid, 70; @p fence.proxy.async; bar.sync 0; FENCE MULTIPLY COMMIT WAIT 0;", 33,
			nil,
		},
		{"the cluster's barrier ends meanwhile", `setp.gt.u32 p, %tid, 95;
			barrier.cluster.arrive.release.aligned;
			@!p bra start;
			barrier.cluster.wait.acquire.aligned;
		start: FENCE MULTIPLY COMMIT WAIT 0;
			@p bra done;
			barrier.cluster.wait.acquire.aligned;
		done:`, 17, nil},
		{"other registers are used in between", `FENCE MULTA COMMIT
			{ .reg .b32 %t<9>; add.u32 %t0, %tid, 1; add.u32 %t1, %tid, 2; add.u32 %t2, %t1, %t0; add.u32 %t3, %t2, %t1;
			add.u32 %t4, %t3, %t2; st.shared.u32 [flag], %t4; add.u32 %t5, %t4, %t3; st.shared.u32 [flag+4], %t5; }
			WAIT 0;`, 17, nil},
	} {
		got, err := runOnes(t, 128, nil, tt.body)
		if err != nil || got[0] != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
		seen := map[float32]bool{}
		for seed := range uint64(30) {
			got, err := runOnes(t, 128, rand.New(rand.NewPCG(seed, 0)), tt.body)
			if tt.may != nil && err != nil && strings.Contains(err.Error(), "fence.proxy.async") {
				continue // it was done between the store and the fence
			}
			if seen[got[0]] = true; err != nil || got[0] != tt.want && !tt.may[got[0]] {
				t.Errorf("%s, seed %d: %v, %v", tt.name, seed, got, err)
			}
		}
		if len(seen) < len(tt.may) {
			t.Errorf("%s: no seed but for %v, want %v", tt.name, seen, tt.may)
		}
	}
}

func TestWGMMAFaults(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		threads    int
		want       string
	}{
		{"no fence", "MULTIPLY COMMIT WAIT 0;", 128, "wgmma.fence must come before"},
		{
			"no fence after a write", "FENCE MULTIPLY COMMIT WAIT 0; mov.b32 %d2, 0; MULTIPLY COMMIT WAIT 0;", 128,
			"without a wgmma.fence",
		},
		{"a write under way", "FENCE MULTIPLY COMMIT mov.b32 %d2, 0; WAIT 0;", 128, "before a wgmma.wait_group"},
		{"a write of A under way", "FENCE MULTA COMMIT mov.b32 %a2, 7; WAIT 0;", 128, "before a wgmma.wait_group"},
		{"three warps", "FENCE MULTIPLY COMMIT WAIT 0;", 96, "four whole warps"},
		{
			"three warps and a part", "setp.gt.u32 p, %tid, 95; @p bra done; FENCE MULTIPLY COMMIT WAIT 0; done:", 100,
			"four whole warps",
		},
		{
			"a warp does something else", "FENCE setp.gt.u32 p, %tid, 95; @p bra done; MULTIPLY COMMIT WAIT 0; done: bar.sync 0;", 128, "deadlock",
		},
		{"a warp exits", "FENCE setp.gt.u32 p, %tid, 95; @p ret; MULTIPLY COMMIT WAIT 0;", 128, "deadlock"},
		{
			"warps differ", "FENCE setp.gt.u32 p, %tid, 95; @p bra other; MULTIPLY bra done; " +
				"other: MULTIPLY done: COMMIT WAIT 0;", 128, "different wgmma.mma_async",
		},
		{
			"descriptors of warps differ",
			"FENCE setp.gt.u32 p, %tid, 95; @p add.u64 %descB, %descB, 1; MULTIPLY COMMIT WAIT 0;", 128, "different descriptors",
		},
		{
			"descriptors of lanes differ", "FENCE setp.eq.u32 p, %tid, 5; @p add.u64 %descB, %descB, 1; MULTIPLY COMMIT WAIT 0;",
			128, "lanes give different",
		},
		{"scales differ", "FENCE setp.eq.u32 yes, %tid, 5; MULTIPLY COMMIT WAIT 0;", 128, "lanes give different"},
		{"beyond shared memory", "FENCE or.b64 %descB, %descB, 0x3fff; MULTIPLY COMMIT WAIT 0;", 128, "matrix B: it reaches"},
		{"stores without a fence", "STORE bar.sync 0; FENCE MULTIPLY COMMIT WAIT 0;", 128, "no fence.proxy.async"},
		{
			"stores of some lanes", "setp.lt.u32 p, %tid, 5; @p st.shared.u32 [tile+512], %tid; bar.sync 0; " +
				"FENCE MULTIPLY COMMIT WAIT 0;", 128, "no fence.proxy.async",
		},
		{
			"a fence too early", "fence.proxy.async; STORE bar.sync 0; FENCE MULTIPLY COMMIT WAIT 0;", 128,
			"no fence.proxy.async",
		},
		{
			"stmatrix without a fence", "mov.u32 %s, tile; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {%x}; bar.sync 0; " +
				"FENCE MULTIPLY COMMIT WAIT 0;", 128, "no fence.proxy.async",
		},
		{"base offset", "FENCE or.b64 %descA, %descA, 0x2000000000000; MULTIPLY COMMIT WAIT 0;", 128, "base offset"},
	} {
		for seed := range uint64(3) {
			var disorder *rand.Rand
			if seed > 0 {
				disorder = rand.New(rand.NewPCG(seed, 0))
			}
			_, err := runOnes(t, tt.threads, disorder, tt.body)
			var fault *Fault
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, seed %d: got %v, want a fault about %q", tt.name, seed, err, tt.want)
			}
		}
	}
}
