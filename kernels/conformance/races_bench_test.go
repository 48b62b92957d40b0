package conformance

import (
	"context"
	"fmt"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// BenchmarkCheck measures how many times the CPU time of the plain simulator a schedule of the race checker takes, by
// turns, per instruction of a warp. Four ranks check a call; in the simulator a rank that is its own peer makes it.
func BenchmarkCheck(b *testing.B) {
	for _, a := range []*collective.Algorithm{allreduce.OneShot(), allreduce.TwoShot()} {
		for _, size := range []struct {
			bytes  int64
			blocks int
		}{{4 << 10, 2}, {64 << 10, 8}, {1 << 20, 64}} {
			b.Run(fmt.Sprintf("%s/%d/%d", a.Name, size.bytes, size.blocks), func(b *testing.B) {
				benchmarkCheck(b, a, size.bytes, size.blocks)
			})
		}
	}
}

func benchmarkCheck(b *testing.B, a *collective.Algorithm, bytes int64, blocks int) {
	const ranks = 4
	checker := newChecker(b, ranks)
	plain := newPlainCall(b, a, bytes, blocks, ranks)
	calls := checkedCalls(a, bytes/4)
	calls.Launches, calls.MaxBlocks = 1, blocks
	var checked, ran rate
	for seed := uint64(0); b.Loop(); seed++ {
		begun := cpuTime(b)
		r, err := checker.Run(seed, calls.Task)
		if err != nil {
			b.Fatal(err)
		}
		checked.instructions += float64(r.WarpInstructions)
		checked.seconds += (cpuTime(b) - begun).Seconds()
		for range 4 {
			ran.add(plain.run(b))
		}
	}
	b.ReportMetric(checked.perSecond(), "checked-warp-instr/cpu-s")
	b.ReportMetric(ran.perSecond(), "plain-warp-instr/cpu-s")
	b.ReportMetric(ran.perSecond()/checked.perSecond(), "times-plain")
}

// rate is instructions of warps, and the CPU time that they took.
type rate struct{ instructions, seconds float64 }

func (r *rate) add(other rate) {
	r.instructions += other.instructions
	r.seconds += other.seconds
}

func (r rate) perSecond() float64 { return r.instructions / r.seconds }

// plainCall is a call of a rank that is its own peer.
type plainCall struct {
	device *sim.Device
	stream cudart.Stream
	comm   *collective.Comm
	a      *collective.Algorithm
	call   collective.Call
	pad    []byte
	base   cudart.DevicePtr
}

func newPlainCall(b *testing.B, a *collective.Algorithm, bytes int64, blocks, world int) *plainCall {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	opened, err := sim.New(1, sim.Options{}).Open(0)
	must(err)
	device := opened.(*sim.Device)
	b.Cleanup(func() { device.Close() })
	cfg := collective.Config{
		Device: device, Source: ptx.Source, SMs: device.Info().SMs, Timeout: waitTimeout, MaxBlocks: blocks,
	}
	cfg.ScratchOffset = (collective.SignalPadBytes + 255) / 256 * 256
	send := cfg.ScratchOffset + 4*bytes + 1<<20
	recv := send + bytes
	base, err := device.Malloc(recv + bytes)
	must(err)
	for range world {
		cfg.Peers = append(cfg.Peers, base)
	}
	comm, err := collective.New(cfg)
	must(err)
	stream, err := device.NewStream()
	must(err)
	call := collective.Call{Send: send, Recv: recv, Count: bytes / 4, DType: collective.Float, Op: collective.Sum}
	return &plainCall{device, stream, comm, a, call, padOfArrivedPeers(), base}
}

// run makes the call.
func (c *plainCall) run(b *testing.B) rate {
	if err := c.stream.Upload(c.base, c.pad); err != nil {
		b.Fatal(err)
	}
	instructions, cpu := c.device.Stats().WarpInstructions, cpuTime(b)
	if err := c.a.Enqueue(c.comm, c.stream, c.call); err != nil {
		b.Fatal(err)
	}
	if err := c.stream.Synchronize(context.Background()); err != nil {
		b.Fatal(err)
	}
	if err := c.comm.Err(); err != nil {
		b.Skipf("%s cannot run alone: %v", c.a.Name, err)
	}
	return rate{float64(c.device.Stats().WarpInstructions - instructions), (cpuTime(b) - cpu).Seconds()}
}
