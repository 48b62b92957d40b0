package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
)

// isChain reports whether the ranks of an algorithm push vectors on from one to the next.
func isChain(a *collective.Algorithm) bool { return a.Name == "chain" }

// firstOfChain is the rank that sends first.
func firstOfChain(c testCall, root int) int {
	if c.collective.Shape.Reduces {
		return root + 1
	}
	return root
}

// filledForChain is a call of all that fits, whose inputs all ranks have written.
func filledForChain(m *member, c testCall, root int) (testCall, error) {
	c.root, c.count = root, c.capacity(bufferBytes)
	if err := c.fill(m); err != nil {
		return c, err
	}
	m.meet()
	return c, nil
}

// A call for which the area is too small takes several launches, the last one shorter.
func TestChainsInSeveralLaunches(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(6, 0, 1) {
		const area = 40 << 10 // of bytes: calls take up to 13 launches
		world := 1 + int(seed%4)
		g := group{
			world: world, blocks: 1 + int(seed%3), areaOf: area, pdl: seed%2 == 1, backend: sim.New(1, sim.Options{Seed: seed}),
		}
		g.run(t, func(m *member) error {
			for i, c := range calls(m.world, isChain) {
				c.in.Seed, c.root, c.in.DType = seed, int(seed)%world, collective.EpilogueDTypes()[seed%3]
				c.offset, c.inPlace = int64(seed%2)*int64(c.in.DType.Size), i%2 == 0
				for _, bytes := range []int64{area, area + 1<<10, bufferBytes} {
					c.count = c.fit(bytes) - 7
					if _, err := c.run(m); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

// A chain whose area has no room for a vector is refused.
func TestChainsWithoutRoom(t *testing.T) {
	t.Parallel()
	group{world: 2, areaOf: 1}.run(t, func(m *member) error {
		for _, c := range calls(m.world, isChain) {
			c.root, c.count = 0, 1
			err := c.enqueue(m)
			if err == nil || !strings.Contains(err.Error(), "chain cannot run: there is no room for vectors") {
				return fmt.Errorf("%s: want an error, got %w", c, err)
			}
		}
		return nil
	})
}

// The first rank of a chain stops halfway. Each rank names the one before it, and waits for an eighth
// of a time-out longer: the wait for the one that stopped expires first.
func TestWaitsInAChainExpireInItsOrder(t *testing.T) {
	t.Parallel()
	const world, root, timeout = 4, 2, 8 * time.Second
	for _, c := range calls(world, isChain) {
		first := firstOfChain(c, root)
		var ended [world]time.Duration
		group{world: world, blocks: 1, timeout: timeout}.run(t, func(m *member) error {
			defer m.meet() // memory stays until all are done
			c, err := filledForChain(m, c, root)
			if err != nil {
				return err
			}
			began := m.now()
			if m.rank == first {
				c.count /= 2
				return errors.Join(c.enqueue(m), m.synchronize())
			}
			expired, err := m.expectTimeoutOf(c)
			if err != nil {
				return err
			}
			ended[(m.rank-first+world)%world] = m.now() - began
			if before := (m.rank + world - 1) % world; expired.Phase != collective.Packets || expired.Peer != before {
				return fmt.Errorf("want a time-out with rank %d missing, got %w", before, expired)
			}
			return nil
		})
		for place, took := range ended {
			least := timeout + time.Duration(place-1)*timeout/8
			if place > 0 && (took < least || took >= least+timeout/8) {
				t.Errorf("%s: waits of the rank at place %d of the chain expired after %v", c.collective.Name, place, took)
			}
		}
		if !slices.IsSorted(ended[:]) {
			t.Errorf("%s: waits expired after %v", c.collective.Name, ended)
		}
	}
}

// The second rank of a chain stops halfway. The first one goes on to the next launch, in which the ranks behind the
// second one are missing as well, since they wait for it. It names the second one.
func TestNextLaunchOfAChainNamesTheRankThatStopped(t *testing.T) {
	t.Parallel()
	const world, root = 4, 1
	for _, c := range calls(world, isChain) {
		first := firstOfChain(c, root)
		stopped := (first + 1) % world
		group{world: world, blocks: 1, timeout: time.Second}.run(t, func(m *member) error {
			defer m.meet() // memory stays until all are done
			c, err := filledForChain(m, c, root)
			if err != nil {
				return err
			}
			switch m.rank {
			case stopped:
				c.count /= 2
				return errors.Join(c.enqueue(m), m.synchronize())
			case first:
				if err := c.enqueue(m); err != nil {
					return err
				}
				expired, err := m.expectTimeoutOf(c)
				if err == nil && (expired.Phase != collective.StartBarrier || expired.Peer != stopped) {
					err = fmt.Errorf("want a time-out with rank %d missing, got %w", stopped, expired)
				}
				return err
			}
			_, err = m.expectTimeoutOf(c)
			return err
		})
	}
}

// Inputs of all ones, which are NaNs, are words that no place can hold: a chain of reduce sends another NaN.
func TestChainsReduceWordsOfAllOnes(t *testing.T) {
	t.Parallel()
	const world, root = 3, 1
	for _, c := range calls(world, isChain) {
		if !c.collective.Shape.Reduces {
			continue
		}
		for _, d := range collective.EpilogueDTypes() {
			c.in.DType, c.root, c.count = d, root, 1003
			group{world: world, timeout: time.Second}.run(t, func(m *member) error {
				defer m.meet() // memory stays until all are done
				call := c.call(m)
				ones := bytes.Repeat([]byte{0xff}, int(c.partBytes()))
				if err := m.stream.Upload(m.comm.Local(call.Send), ones); err != nil {
					return err
				}
				m.meet()
				got := make([]byte, len(ones))
				err := errors.Join(c.algorithm.Enqueue(m.comm, m.stream, call), m.synchronize())
				if err = errors.Join(err, m.stream.Download(got, m.comm.Local(call.Recv))); err != nil || m.rank != root {
					return err
				}
				for i := 0; i < len(got); i += d.Size {
					if got[i+d.Size-1]&0x7e != 0x7e { // bits of the exponent and, of a half, of a quiet NaN
						return fmt.Errorf("%s: element %d is %x, not a NaN", d.Name, i/d.Size, got[i:i+d.Size])
					}
				}
				return nil
			})
		}
	}
}
