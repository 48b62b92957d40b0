package hang

import (
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
)

// warps are warps of a block in one place.
func warps(block, first, last int, does cudart.Activity, line int) (all []cudart.RunningWarp) {
	opcode := map[cudart.Activity]string{
		cudart.Polls: "ld.acquire.sys.u32", cudart.Waits: "bar.sync", cudart.Runs: "add.u32",
	}
	for w := first; w <= last; w++ {
		all = append(all, cudart.RunningWarp{
			Block: block, Warp: w, Activity: does, At: cudart.Instruction{Opcode: opcode[does], Module: "one.ptx", Line: line},
		})
	}
	return all
}

func kernel(blocks, pending int, all ...[]cudart.RunningWarp) cudart.RunningKernel {
	k := cudart.RunningKernel{Name: "one_shot", Blocks: blocks, Pending: pending}
	for _, w := range all {
		k.Warps = append(k.Warps, w...)
	}
	return k
}

// Equal places are one.
func TestPlaces(t *testing.T) {
	inlined := warps(5, 0, 0, cudart.Polls, 9)
	inlined[0].At.Function, inlined[0].At.Source = "await", "flag.cuh:4, inlined at one.cu:88"
	var many [][]cudart.RunningWarp
	for line := range 8 {
		many = append(many, warps(0, line, line, cudart.Polls, 10+line))
	}
	for _, tt := range []struct {
		kernel cudart.RunningKernel
		want   string
	}{
		{
			kernel(24, 0, warps(0, 0, 0, cudart.Polls, 412), warps(0, 1, 3, cudart.Waits, 420),
				warps(1, 0, 0, cudart.Polls, 412), warps(1, 1, 3, cudart.Waits, 420)),
			"blocks 0 and 1 of 24 have not ended; warp 0 of each polls ld.acquire.sys.u32 at one.ptx:412; " +
				"warps 1-3 of each wait at bar.sync at one.ptx:420",
		},
		{
			kernel(2000, 976, warps(0, 2, 2, cudart.Runs, 7), warps(1, 0, 0, cudart.Polls, 412),
				warps(2, 0, 0, cudart.Polls, 412)),
			"blocks 0-2 of 2000 have not ended, and 976 have not begun; " +
				"blocks 1 and 2 warp 0 poll ld.acquire.sys.u32 at one.ptx:412; block 0 warp 2 is at add.u32 at one.ptx:7",
		},
		{
			kernel(1, 0, warps(0, 0, 1, cudart.Runs, 7), warps(0, 2, 2, cudart.Waits, 9)),
			"block 0 of 1 has not ended and polls nothing (--timeout allows more time); " +
				"its warps 0 and 1 are at add.u32 at one.ptx:7; its warp 2 waits at bar.sync at one.ptx:9",
		},
		{
			kernel(6, 0, inlined),
			"block 5 of 6 has not ended; its warp 0 polls ld.acquire.sys.u32 at one.ptx:9 in await " +
				"(flag.cuh:4, inlined at one.cu:88)",
		},
	} {
		if got := describe(tt.kernel); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	if got := describe(kernel(1, 0, many...)); !strings.HasSuffix(got, "one.ptx:15; and 2 more places") {
		t.Error(got)
	}
}

// An error names every rank that hangs, and the others.
func TestErrorNamesRanks(t *testing.T) {
	on := func(seconds time.Duration, k cudart.RunningKernel) *Report {
		r := NewReport("allreduce one_shot", seconds*time.Second, []cudart.RunningKernel{k}, true)
		return &r
	}
	flag, data := kernel(1, 0, warps(0, 0, 0, cudart.Polls, 412)), kernel(1, 0, warps(0, 0, 0, cudart.Polls, 500))
	gpu, copies := NewReport("allreduce one_shot", time.Second, nil, false), NewReport("x", time.Second, nil, true)
	for _, tt := range []struct {
		reports []*Report
		want    string
		suspect int
	}{
		{
			[]*Report{on(4, flag), nil, on(5, flag), on(5, data)},
			"ranks 0 and 2: one_shot has not ended after 5s: block 0 of 1 has not ended; " +
				"its warp 0 polls ld.acquire.sys.u32 at one.ptx:412; " +
				"rank 3: one_shot has not ended after 5s: block 0 of 1 has not ended; " +
				"its warp 0 polls ld.acquire.sys.u32 at one.ptx:500; rank 1 reports no hang",
			1,
		},
		{
			[]*Report{&gpu, nil, nil},
			"rank 0: allreduce one_shot has not ended after 1s: the driver does not tell where its kernels wait; " +
				"--device sim runs the same kernels and does (--timeout allows more time); ranks 1 and 2 report no hang",
			-1,
		},
		{
			[]*Report{&copies},
			"rank 0: x has not ended after 1s: no kernel runs: a copy, or a wait of a stream, has not ended",
			-1,
		},
	} {
		e := &Error{tt.reports}
		if got := e.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
		if rank, ok := e.Suspect(); ok != (tt.suspect >= 0) || ok && rank != tt.suspect {
			t.Errorf("%s: rank %d is suspected, %v", tt.want, rank, ok)
		}
	}
}

// A hang names a kernel as its source does.
func TestKernelsHaveReadableNames(t *testing.T) {
	for name, want := range map[string]string{
		"one_shot": "one_shot",
		"_ZN4vllm6reduceIfLi2EEEvPNS_8RankDataEPT_ii": "vllm::reduce",
		"_Z4lostIiEvPT_": "lost",
		"_Zbroken":       "_Zbroken",
	} {
		k := kernel(1, 0, warps(0, 0, 0, cudart.Polls, 7))
		k.Name = name
		if got := NewReport("allreduce", time.Second, []cudart.RunningKernel{k}, true).What; got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}
