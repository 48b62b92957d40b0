package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// checkedCalls are calls of an algorithm that follow each other, for the race checker.
type checkedCalls struct {
	algorithm *collective.Algorithm
	source    collective.Source // nil is that of the catalog
	count     int64             // of floats
	calls     int
	blocks    int
}

// run runs the calls once under the schedule of a seed.
func (c checkedCalls) run(t testing.TB, checker *check.Checker, seed uint64) *check.Report {
	t.Helper()
	if c.source == nil {
		c.source = ptx.Source
	}
	report, err := checker.Run(seed, c.rank)
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	return report
}

// rank is what a rank does: every element of its input is its number plus 1. A copy in the stream makes the input of
// each call, so that the call has to order it before its peers' loads, and these before the next copy.
func (c checkedCalls) rank(r *check.Rank) (err error) {
	comm, err := c.join(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, comm.Close()) }()
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	send, recv := c.layOut(r.World, &collective.Config{})
	original, err := r.Device.Malloc(4 * c.count)
	if err != nil {
		return err
	}
	if err := s.Upload(original, floats(c.count, float32(r.Number+1))); err != nil {
		return err
	}
	if err := r.Meet(); err != nil {
		return err
	}
	call := collective.Call{Send: send, Recv: recv, Count: c.count, DType: collective.Float, Op: collective.Sum}
	for range c.calls {
		if err := s.Copy(comm.Local(send), original, 4*c.count); err != nil {
			return err
		}
		if err := c.algorithm.Enqueue(comm, s, call); err != nil {
			return err
		}
	}
	if err := errors.Join(s.Synchronize(context.Background()), comm.Err()); err != nil {
		return err
	}
	return expectFloats(s, comm.Local(recv), c.count, float32(r.World*(r.World+1)/2))
}

// layOut places everything in symmetric memory: its offsets in cfg, and those of input and output.
func (c checkedCalls) layOut(world int, cfg *collective.Config) (send, recv int64) {
	at := int64(0)
	take := func(bytes int64) int64 {
		begin := at
		at += (bytes + 255) / 256 * 256
		return begin
	}
	take(collective.SignalPadBytes)
	cfg.PacketBytes, cfg.MailboxBytes = collective.PacketAreaBytes(c.blocks), collective.MailboxAreaBytes(c.blocks)
	cfg.PacketOffset, cfg.MailboxOffset = take(cfg.PacketBytes), take(cfg.MailboxBytes)
	scratch := int64(0)
	if c.algorithm.ScratchBytes != nil {
		scratch = c.algorithm.ScratchBytes(world, 4*c.count)
	}
	cfg.ScratchOffset = take(scratch)
	return take(4 * c.count), take(4 * c.count)
}

// join makes the communicator of a rank, and names its memory.
func (c checkedCalls) join(r *check.Rank) (*collective.Comm, error) {
	cfg := collective.Config{
		Device: r.Device, Source: c.source, Rank: r.Number, SMs: r.Device.Info().SMs, MaxBlocks: c.blocks,
		Timeout: waitTimeout,
	}
	send, recv := c.layOut(r.World, &cfg)
	base, err := r.Device.Malloc(recv + 4*c.count)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name  string
		at, n int64
	}{
		{"signal pad", 0, collective.SignalPadBytes},
		{"packets", cfg.PacketOffset, cfg.PacketBytes},
		{"mailboxes", cfg.MailboxOffset, cfg.MailboxBytes},
		{"scratch", cfg.ScratchOffset, send - cfg.ScratchOffset},
		{"input", send, 4 * c.count},
		{"output", recv, 4 * c.count},
	} {
		r.Name(base+cudart.DevicePtr(part.at), part.n, part.name)
	}
	if cfg.Peers, err = r.Share(base); err != nil {
		return nil, err
	}
	if cfg.Multicast, err = r.Multicast(cfg.Peers); err != nil {
		return nil, err
	}
	return collective.New(cfg)
}

// floats are so many of one value, as bytes.
func floats(count int64, value float32) []byte {
	var all []byte
	for range count {
		all = binary.LittleEndian.AppendUint32(all, math.Float32bits(value))
	}
	return all
}

func expectFloats(s cudart.Stream, at cudart.DevicePtr, count int64, want float32) error {
	got := make([]byte, 4*count)
	if err := s.Download(got, at); err != nil {
		return err
	}
	for i := range count {
		if v := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); v != want {
			return fmt.Errorf("element %d is %v, want %v", i, v, want)
		}
	}
	return nil
}

func newChecker(t testing.TB, ranks int) *check.Checker {
	t.Helper()
	c, err := check.New(check.Config{Ranks: ranks})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The algorithms of allreduce have no race, and neither have calls that use the memory of earlier ones again.
func TestAllreduceHasNoRace(t *testing.T) {
	t.Parallel()
	for _, a := range allreduce.Collective().Algorithms {
		if a.Needs.Library != "" {
			continue
		}
		for _, ranks := range []int{1, 2, 3} {
			checker := newChecker(t, ranks)
			for _, seed := range seeds(16, 0, 1) {
				r := checkedCalls{algorithm: a, count: 1501, calls: 3, blocks: 2}.run(t, checker, seed)
				if !r.Clean() {
					t.Errorf("%s, %d ranks, seed %d: %v, incomplete %q", a.Name, ranks, seed, r.Findings, r.Incomplete)
				}
			}
		}
	}
}
