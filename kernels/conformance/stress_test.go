package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/naive"
	"gpurun/kernels/reference"
)

// Batches of random calls are enqueued without a wait between them. Algorithms, types, sizes, and with them grids and
// tiles, alternate, on the stream and in a graph that is replayed. Ranks are late at random. Every element of every
// call is verified.
func TestRandomBatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ world, rounds int }{{1, 3}, {2, 12}, {3, 12}, {4, 10}, {7, 6}, {16, 2}} {
		t.Run(fmt.Sprintf("%d ranks", tt.world), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			randomBatches(t, group{world: tt.world, backend: wideBackend{sim.New(1, sim.Options{})}}, seed, tt.rounds)
		})
	}
}

// The same where the simulator tears vectors, delays weak stores and shuffles turns: kernels must not depend on more
// than the memory model promises.
func TestRandomBatchesInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(12, 1, 8) {
		t.Run(fmt.Sprintf("seed %d", seed+1), func(t *testing.T) {
			// A single block takes many tiles.
			g := group{
				world: 2 + int(seed%3), blocks: 1 + 3*int(seed%2), pdl: true, backend: sim.New(1, sim.Options{Seed: seed + 1}),
			}
			randomBatches(t, g, seed, 4)
		})
	}
}

// A tile is followed by a second one that only one thread works on, call after call: no packet is stored to a slot that
// a slower warp still reads.
func TestShortLastTilesInDisorder(t *testing.T) {
	t.Parallel()
	slots := func(a *collective.Algorithm) bool { return a.Needs.Packets || a.Needs.Mailboxes }
	for _, seed := range seeds(3, 1) {
		g := group{world: 2, blocks: 1, backend: sim.New(1, sim.Options{Seed: seed + 1})}
		g.run(t, func(m *member) error {
			for _, c := range calls(m.world, slots) {
				tile := collective.PacketTile(m.world)
				if c.algorithm.Needs.Mailboxes {
					tile = collective.MailboxTile(m.world) // among two ranks also what both parts of two-shot have
				}
				if c.algorithm.Needs.Mailboxes && !c.collective.Shape.Reduces {
					tile = collective.KeyedMailboxTile(m.world)
				}
				c.in.Seed, c.count = seed, tile/int64(c.in.DType.Size)+1
				if err := c.fill(m); err != nil {
					return err
				}
				for range 6 { // out of place, with the same result
					if err := c.enqueue(m); err != nil {
						return err
					}
				}
				if err := m.synchronize(); err != nil {
					return fmt.Errorf("%s: %w", c, err)
				}
				if _, err := c.check(m); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// A rank's oneshot ends when it has read its peers' slots, not when the peers have read its own. The next call that
// uses the scratch must not write where peers may still read.
func TestOneShotSlotsAreNotOverwrittenTooEarly(t *testing.T) {
	t.Parallel()
	staged := func(a *collective.Algorithm) bool { return a.Collective == "allreduce" && a.ScratchBytes != nil }
	for _, seed := range seeds(6, 0, 2) {
		g := group{world: 3, blocks: 1, backend: sim.New(1, sim.Options{Seed: seed + 1})}
		g.run(t, func(m *member) error {
			all := calls(m.world, staged)
			first := all[slices.IndexFunc(all, func(c testCall) bool { return c.algorithm.Name == "oneshot" })]
			for _, next := range all {
				b := batch{}
				for i := range batchCalls {
					c := []testCall{first, next}[i%2]
					c.in.Seed, c.count, c.offset = seed+uint64(i), c.capacity(batchBytes)/4, int64(i*batchBytes)
					b.calls = append(b.calls, c)
				}
				own := rand.New(rand.NewPCG(seed, uint64(m.rank)))
				if err := b.once(m, own, func() error { return b.enqueue(m) }); err != nil {
					return fmt.Errorf("%s after one-shot: %w", next, err)
				}
			}
			return nil
		})
	}
}

func randomBatches(t *testing.T, g group, seed uint64, rounds int) {
	t.Helper()
	g.run(t, func(m *member) error {
		common, own := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, uint64(m.rank+1)))
		for range rounds {
			if err := drawBatch(common, m.world).run(m, own); err != nil {
				return err
			}
		}
		return nil
	})
}

// wideBackend opens simulated devices with as many multiprocessors as the largest grid needs.
type wideBackend struct{ *sim.Backend }

type wideDevice struct{ *sim.Device }

func (b wideBackend) Open(ordinal int) (cudart.Device, error) {
	d, err := b.Backend.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return wideDevice{d.(*sim.Device)}, nil
}

func (d wideDevice) Info() cudart.Info {
	info := d.Device.Info()
	info.SMs = collective.MaxBlocks
	return info
}

// batch is calls with buffers of their own.
type batch struct {
	calls []testCall
	graph bool
}

// batchCalls is how many calls' buffers fit side by side.
const (
	batchCalls = 8
	batchBytes = bufferBytes / batchCalls
)

func drawBatch(r *rand.Rand, world int) batch {
	b := batch{graph: r.IntN(3) == 0}
	every := calls(world, nil)
	for i := range batchCalls {
		c := every[r.IntN(len(every))]
		d := []collective.DType{collective.Float, collective.Half, collective.UInt32}[r.IntN(3)]
		if !c.algorithm.Supports(d, c.in.Op, collective.NoEpilogue) {
			d = collective.Float
		}
		c.in.Seed, c.in.Pattern, c.in.DType = r.Uint64(), reference.Pattern(r.IntN(2)), d
		c.root, c.offset = r.IntN(world), int64(i*batchBytes)
		c.inPlace = r.IntN(2) == 0 && c.canRunInPlace()
		if c.algorithm.Name == "naive" && r.IntN(2) == 0 {
			c.algorithm = inSmallChunks(c)
		}
		if r.IntN(3) == 0 {
			c.offset += int64(d.Size * r.IntN(16/d.Size))
			c.shift = int64(d.Size * r.IntN(16/d.Size))
		}
		// Small sizes are as likely as large ones.
		most := c.capacity(batchBytes) >> r.IntN(12)
		c.count = r.Int64N(max(most, 1))
		b.calls = append(b.calls, c)
	}
	return b
}

// inSmallChunks is the call's algorithm with small chunks, so that there are many.
func inSmallChunks(c testCall) *collective.Algorithm {
	return naive.InChunks(c.collective.Name, c.collective.Shape, 256)
}

// run enqueues the batch twice from a graph, and verifies it. The rank's own random numbers decide how late it is.
func (b batch) run(m *member, own *rand.Rand) error {
	if !b.graph {
		return b.once(m, own, func() error { return b.enqueue(m) })
	}
	graph, err := m.stream.Capture(func() error { return b.enqueue(m) })
	if err != nil {
		return err
	}
	for range 2 {
		for i := range b.calls {
			b.calls[i].in.Seed++
		}
		if err := b.once(m, own, func() error { return graph.Launch(m.stream) }); err != nil {
			return err
		}
	}
	return graph.Close()
}

func (b batch) once(m *member, own *rand.Rand, submit func() error) error {
	if err := b.fill(m); err != nil {
		return err
	}
	if own.IntN(8) == 0 {
		time.Sleep(time.Duration(own.IntN(5)) * time.Millisecond) // the lateness under test
	}
	if err := submit(); err != nil {
		return err
	}
	if err := m.synchronize(); err != nil {
		return err
	}
	return b.check(m)
}

func (b batch) fill(m *member) error {
	for _, c := range b.calls {
		if err := c.fill(m); err != nil {
			return err
		}
	}
	return nil
}

func (b batch) check(m *member) error {
	for _, c := range b.calls {
		if _, err := c.check(m); err != nil {
			return err
		}
	}
	return nil
}

func (b batch) enqueue(m *member) error {
	for _, c := range b.calls {
		if err := c.enqueue(m); err != nil {
			return err
		}
	}
	return nil
}
