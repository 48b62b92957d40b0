package conformance

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// BenchmarkSimulator is how fast the simulator runs the kernels that ship, in
// instructions of one lane per second of CPU time. One rank runs alone: all its
// peers are itself, and have arrived at every barrier already.
func BenchmarkSimulator(b *testing.B) {
	for _, a := range []*collective.Algorithm{allreduce.OneShot(), allreduce.TwoShot()} {
		for _, world := range []int{4, 8} {
			b.Run(fmt.Sprintf("%s/%d/float", a.Name, world),
				func(b *testing.B) { benchmarkAlone(b, a, collective.Float, world) })
			b.Run(fmt.Sprintf("%s/%d/bfloat16", a.Name, world),
				func(b *testing.B) { benchmarkAlone(b, a, collective.BFloat16, world) })
		}
	}
}

func benchmarkAlone(b *testing.B, a *collective.Algorithm, dtype collective.DType, world int) {
	const bytes = 1 << 22
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	opened, err := sim.New(1, sim.Options{}).Open(0)
	must(err)
	device := opened.(*sim.Device)
	defer device.Close()
	head := (collective.SignalPadBytes + 255) / 256 * 256
	send := head + (allreduce.OneShot().ScratchBytes(world, bytes)+255)/256*256
	base, err := device.Malloc(send + 2*bytes)
	must(err)
	peers := make([]cudart.DevicePtr, world)
	for r := range peers {
		peers[r] = base
	}
	stream, err := device.NewStream()
	must(err)
	comm, err := collective.New(collective.Config{
		Device: device, Source: ptx.Source, Peers: peers, ScratchOffset: head, SMs: device.Info().SMs, Timeout: waitTimeout,
	})
	must(err)
	must(stream.Upload(base, arrivedForEver()))

	call := collective.Call{
		Send: send, Recv: send + bytes, Count: bytes / int64(dtype.Size), DType: dtype, Op: collective.Sum,
	}
	instructions, cpu := device.Stats().LaneInstructions, cpuTime(b)
	b.SetBytes(bytes)
	for b.Loop() {
		must(a.Enqueue(comm, stream, call))
		must(stream.Synchronize(context.Background()))
		must(comm.Err())
	}
	instructions = device.Stats().LaneInstructions - instructions
	b.ReportMetric(float64(instructions)/(cpuTime(b)-cpu).Seconds(), "lane-instr/cpu-s")
}

// arrivedForEver is a signal pad whose flags are ahead of every epoch to come.
func arrivedForEver() []byte {
	pad := make([]byte, collective.SignalPadBytes)
	flags := pad[len(pad)-4*collective.MaxBlocks*collective.MaxRanks:]
	for ; len(flags) > 0; flags = flags[4:] {
		binary.LittleEndian.PutUint32(flags, 1<<30)
	}
	return pad
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
