package exec

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkReduce runs the inner loop of an allreduce: 16-byte loads from the
// buffers of all ranks, additions, a 16-byte store.
func BenchmarkReduce(b *testing.B) {
	p := compileFile(b, "testdata/kernels.ptx")
	for _, bm := range []struct {
		entry string
		ranks int
	}{{"reduce_4", 4}, {"reduce_8", 8}, {"reduce_n", 8}} {
		b.Run(bm.entry, func(b *testing.B) {
			const vectors = 1 << 14
			var mem memory
			var args []uint64
			for range 8 {
				args = append(args, mem.allocate(16*vectors))
			}
			args = append(args, mem.allocate(16*vectors), vectors|uint64(bm.ranks)<<32)
			var lanes uint64
			before := cpuTime(b)
			for b.Loop() {
				g := launchKernel(b, p, bm.entry, Config{Blocks: 4, Threads: 256, Params: words(args...), Memory: &mem})
				if err := finish(b, g); err != nil {
					b.Fatal(err)
				}
				lanes += g.Stats().LaneInstructions
			}
			b.SetBytes(int64(16 * vectors * bm.ranks))
			b.ReportMetric(float64(lanes)/(cpuTime(b)-before).Seconds(), "lane-instr/cpu-s")
		})
	}
}

// cpuTime is what this process has used; other work on the machine slows a
// benchmark down, but not this.
func cpuTime(b *testing.B) time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkWGMMA multiplies 64 x 64 by 64 x 128 elements: half of a step of 64
// along K of a tile of 128 x 128.
func BenchmarkWGMMA(b *testing.B) {
	var body strings.Builder
	body.WriteString("wgmma.fence.sync.aligned;\n")
	for range 4 {
		fmt.Fprintf(&body, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%s}, %%descA, %%descB, yes, 1, 1, 0, 0;\n",
			list("d", 64))
	}
	body.WriteString("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n")
	p := compileText(b, wgmmaKernel(64, body.String()))
	var mem memory
	base := mem.allocate(32768 + 512*132)
	for i := range 32768 / 2 {
		mem.at(base)[2*i+1] = 0x3f
	}
	args := words(base, dense(false, 128, 0, 64).bits(), dense(false, 128, startOfB, 128).bits())
	for b.Loop() {
		if err := finish(b, launchKernel(b, p, "run", Config{Threads: 128, Params: args, Memory: &mem})); err != nil {
			b.Fatal(err)
		}
	}
}
