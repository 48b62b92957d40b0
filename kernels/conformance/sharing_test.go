package conformance

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// One group may use two streams in turn: its epochs are in the memory of the device, not in a stream.
func TestTwoStreamsGrid(t *testing.T) {
	parallelInSimulator(t)
	const world, turns = 3, 4
	pool := newRankPool(t, gridGroup(t, world))
	for _, c := range gridCalls(t, world, "") {
		t.Run(c.collective.Name+"/"+c.algorithm.Name, func(t *testing.T) {
			pool.run(t, func(m *member) error {
				other, err := m.device.NewStream()
				if err != nil {
					return err
				}
				m.meet() // CUDA may wait for running kernels to make a stream
				streams := []cudart.Stream{m.stream, other}
				for c.in.Seed = range uint64(turns) {
					mine := *m
					mine.stream, c.count = streams[c.in.Seed%2], 1000+7*int64(c.in.Seed)
					if _, err := c.run(&mine); err != nil {
						return errors.Join(err, other.Close())
					}
				}
				m.meet()
				return other.Close()
			})
		})
	}
}

// Two groups share the devices, each with a Comm, memory and a stream of its own, and run at the same time. Rank r of
// one is rank n-1-r of the other. Half of the devices get the first group's call first, the others the second group's,
// so that neither group could finish alone.
func TestTwoGroupsShareDevicesGrid(t *testing.T) {
	parallelInSimulator(t)
	const world, rounds = 4, 3
	g := gridGroup(t, world)
	g.blocks = 4 // the blocks of both fit on a GPU at the same time
	second, every := newExchange(world), gridCalls(t, world, "")
	g.run(t, func(m *member) error {
		defer second.barrier.leave()
		other, err := g.complete().join(second, world-1-m.rank, m.device)
		if err != nil {
			return err
		}
		m.meet()
		for round := range uint64(rounds) {
			for _, c := range every {
				c.in.Seed = round
				if err := runBoth(m, other, c); err != nil {
					return errors.Join(err, other.comm.Close())
				}
			}
		}
		m.meet() // a peer may still read the other group's memory
		return other.comm.Close()
	})
}

// runBoth makes a call in two groups at the same time, with different data.
func runBoth(m, other *member, c testCall) error {
	a, b := c, c
	a.count, a.in.DType = 3000, collective.Float
	b.count, b.in.DType, b.in.Pattern = 1001, collective.Half, reference.Random
	first, then := func() error { return a.enqueue(m) }, func() error { return b.enqueue(other) }
	if m.rank%2 == 1 {
		first, then = then, first
	}
	for _, step := range []func() error{
		func() error { return a.fill(m) }, func() error {
			return b.fill(other)
		}, first, then, m.synchronize, other.synchronize,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("%s, beside %s: %w", a, b, err)
		}
	}
	if _, err := a.check(m); err != nil {
		return err
	}
	_, err := b.check(other)
	return err
}

// Each time, another rank is late by 100 ms, and the others wait for it.
func TestLateRankGrid(t *testing.T) {
	parallelInSimulator(t)
	const world = 3
	pool := newRankPool(t, gridGroup(t, world))
	for round, c := range gridCalls(t, world, "") {
		t.Run(c.collective.Name+"/"+c.algorithm.Name, func(t *testing.T) {
			c.count, c.in.Seed, c.inPlace = 500, uint64(round), c.canRunInPlace()
			pool.run(t, func(m *member) error {
				if m.rank == round%world {
					m.sleep(100 * time.Millisecond) // the lateness under test
				}
				_, err := c.run(m)
				return err
			})
		})
	}
}

// A graph that is replayed with other inputs gives the results of these inputs.
func TestGraphReplayGrid(t *testing.T) {
	parallelInSimulator(t)
	const world = 4
	pool := newRankPool(t, gridGroup(t, world))
	for _, c := range gridCalls(t, world, "") {
		t.Run(c.collective.Name+"/"+c.algorithm.Name, func(t *testing.T) {
			c.in.DType, c.count = collective.BFloat16, 3000
			pool.run(t, func(m *member) error { return c.replay(m, 3) })
		})
	}
}
