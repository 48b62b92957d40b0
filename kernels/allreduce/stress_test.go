package allreduce

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// Batches of random calls, enqueued without a wait between them: algorithms,
// types, sizes and with them grids and tiles alternate, on the stream and in a
// graph that is replayed, while ranks come late at random. Every element of every
// call is compared.
func TestRandomBatches(t *testing.T) {
	for _, tt := range []struct{ world, rounds int }{{1, 3}, {2, 6}, {3, 6}, {4, 6}, {7, 4}, {16, 2}} {
		t.Run(fmt.Sprintf("%d ranks", tt.world), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			runGroupOn(t, wideBackend{sim.New(1, sim.Options{})}, tt.world, patience, func(m *member) error {
				common, own := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, uint64(m.rank+1)))
				for range tt.rounds {
					if err := drawBatch(common, tt.world).run(m, own); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// wideBackend opens simulated devices that claim as many multiprocessors as
// fill the largest grid.
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

// batch is calls on buffers of their own.
type batch struct {
	setups []setup
	graph  bool
}

// slices is how many calls' buffers fit side by side.
const (
	batchCalls = 8
	batchBytes = bufferBytes / batchCalls
)

func drawBatch(r *rand.Rand, world int) batch {
	b := batch{graph: r.IntN(3) == 0}
	for i := range batchCalls {
		d := collective.DTypes()[r.IntN(3)]
		s := setup{
			algorithm: drawAlgorithm(r),
			inPlace:   r.IntN(2) == 0,
			offset:    int64(i * batchBytes),
			in:        reference.Input{Seed: r.Uint64(), Pattern: reference.Pattern(r.IntN(2)), Op: collective.Sum, DType: d, World: world},
		}
		if r.IntN(3) == 0 {
			s.offset += int64(d.Size * r.IntN(16/d.Size))
			s.shift = int64(d.Size * r.IntN(16/d.Size))
		}
		// Small sizes are as likely as large ones.
		most := (batchBytes - 3*guardBytes) / d.Size >> r.IntN(12)
		s.count = int64(r.IntN(most))
		b.setups = append(b.setups, s)
	}
	return b
}

func drawAlgorithm(r *rand.Rand) *collective.Algorithm {
	algorithms := append(Collective().Algorithms, naiveInChunks(1024))
	return algorithms[r.IntN(len(algorithms))]
}

// run enqueues the batch, from a graph twice, and checks it. The rank's own
// randomness decides how late it is.
func (b batch) run(m *member, own *rand.Rand) error {
	if !b.graph {
		return b.once(m, own, func() error { return b.enqueue(m) })
	}
	graph, err := m.stream.Capture(func() error { return b.enqueue(m) })
	if err != nil {
		return err
	}
	for range 2 {
		for i := range b.setups {
			b.setups[i].in.Seed++
		}
		if err := b.once(m, own, func() error { return graph.Launch(m.stream) }); err != nil {
			return err
		}
	}
	return graph.Close()
}

func (b batch) once(m *member, own *rand.Rand, submit func() error) error {
	for _, s := range b.setups {
		if err := s.fill(m); err != nil {
			return err
		}
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
	for _, s := range b.setups {
		if _, err := s.check(m); err != nil {
			return err
		}
	}
	return nil
}

func (b batch) enqueue(m *member) error {
	for _, s := range b.setups {
		if err := s.algorithm.Enqueue(m.comm, m.stream, s.call(m)); err != nil {
			return err
		}
	}
	return nil
}
