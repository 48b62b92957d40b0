package exec

import (
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
