package conformance

import (
	"fmt"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// waits counts the waits for words that a stream is given.
type waits struct {
	cudart.Stream
	count int
}

func (w *waits) WaitValue(addr cudart.DevicePtr, value uint32) error {
	w.count++
	return w.Stream.WaitValue(addr, value)
}

// blocking is a device whose launches return when the kernel has ended: what it waits for would never be
// enqueued behind them.
type blocking struct{ cudart.Device }

func (b blocking) Info() cudart.Info {
	info := b.Device.Info()
	info.LaunchesBlock = true
	return info
}

// Products are copied to their owners where there are tiles to multiply meanwhile, and launches do not block; else
// kernels push them.
func TestProductsAreSentAsSuits(t *testing.T) {
	const world, tile = 2, 128
	for _, c := range []struct {
		tilesPerSM    int64
		blocks, wants bool
	}{{1, false, false}, {2, false, true}, {2, true, false}} {
		for _, o := range matmul.Operations() {
			if !o.Reduces {
				continue
			}
			p := matmul.Problem{M: tile * world, N: tile * c.tilesPerSM, K: 8, DType: collective.Half}
			a, _ := o.Algorithm("fused")
			call := matmulCall{operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, world, reference.Exact, 1)}
			groupFor(world, sim.New(1, sim.Options{Major: 8}), []matmulCall{call}).run(t, func(m *member) error {
				r, err := newRunner(m)
				if err != nil {
					return err
				}
				r.SMs = world // a tile of each shard at a time
				copies := &waits{Stream: r.Copies}
				r.Copies = copies
				if c.blocks {
					r.Device = blocking{r.Device}
				}
				if err := call.run(m, r); err != nil {
					return err
				}
				if got := copies.count > 0; got != c.wants {
					return fmt.Errorf("%s, %d tiles for each multiprocessor, blocking %t: copies are %t", o.Name, c.tilesPerSM, c.blocks, got)
				}
				return nil
			})
		}
	}
}
