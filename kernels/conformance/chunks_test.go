package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"gpurun/cudart/sim"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// byChunks reports whether an algorithm's ranks tell each other of chunks.
func byChunks(a *collective.Algorithm) bool {
	return slices.Contains([]string{"chain", "relay"}, a.Name)
}

// tells is how a chunk is told of.
const tells = `red\.relaxed\.sys[^;]*;`

// A rank that is not told of a chunk names the one in front, and ends with all of its warps, whichever chunk
// each waits for.
func TestChunkThatIsNotToldOfIsNamed(t *testing.T) {
	const world, root = 4, 2
	chunkGroup("chain", world, 2, tells, "").run(t, func(m *member) error {
		defer m.meet() // memory stays until all are done
		err := m.chunked("chain", root)
		if m.rank == root {
			return err
		}
		return wantMissed(err, collective.Chunk, (m.rank+world-1)%world)
	})
}

// wantMissed wants a rank to have been missed in a phase.
func wantMissed(err error, phase collective.Phase, peer int) error {
	var expired *collective.TimeoutError
	if !errors.As(err, &expired) || expired.Phase != phase || expired.Peer != peer {
		return fmt.Errorf("want rank %d to be missed at the %s, got %w", peer, phase, err)
	}
	return nil
}

// A root that dies when it has told of a chunk is missed by all, at the next one or at the end, also by those that
// wait for others, which wait for it.
func TestRootThatDiesIsNamed(t *testing.T) {
	const world, root, start = 4, 3, 1 // where a rank waits for several, the root is the last that it looks for
	for blocks := 1; blocks < world; blocks++ {
		t.Run(fmt.Sprintf("%d blocks", blocks), func(t *testing.T) {
			chunkGroup("relay", world, blocks, tells, "$0 trap;").run(t, func(m *member) error {
				defer m.meet() // memory stays until all are done
				err := m.chunked("relay", root)
				var expired *collective.TimeoutError
				switch owner := m.rank == 0; { // of block 0
				case m.rank == root && err == nil:
					return errors.New("want the root to die")
				case m.rank == root:
					return nil
				case !errors.As(err, &expired) || expired.Peer != root:
					return fmt.Errorf("want the root to be missed, got %w", err)
				case blocks == 1 && owner && (expired.Phase != collective.Chunk || expired.Seen != start+1):
					return fmt.Errorf("want the second chunk to be missed, got %w", err)
				}
				return nil
			})
		})
	}
}

// Once a chunk has been missed, the next rank is told of no later one either, which have come.
func TestNothingIsToldOfBehindAMissedChunk(t *testing.T) {
	const world, root = 3, 0
	missed := "$1$2 { .reg .pred first; .reg .b32 thread; mov.u32 thread, %tid.x; setp.eq.u32 first, thread, 0; " +
		"@first mov.b32 $3, 0; }$4"
	chunkGroup("chain", world, 2, lastWait, missed).run(t, func(m *member) error {
		err := m.chunked("chain", root)
		m.meet()
		defer m.meet() // memory stays until all are done
		if (err == nil) != (m.rank == root) {
			return fmt.Errorf("want a chunk to be missed by all but the root, got %w", err)
		}
		const start = 1
		told, err := m.flag((m.rank + world - 1) % world)
		if err == nil && m.rank == 2 && told != start {
			err = fmt.Errorf("rank 1 has told of %d chunks behind one that it missed", told-start)
		}
		return err
	})
}

// A rank that has missed a chunk does not come to the barrier at the end, for whose sake the others would take the data
// for complete.
func TestWhoMissedAChunkDoesNotComeToTheEnd(t *testing.T) {
	const world, root, owner = 3, 0, 1
	missed := "${1}mov.b32 ${3}, 0;${4}"
	chunkGroup("relay", world, 1, lastWaitButOne, missed).run(t, func(m *member) error {
		err := m.chunked("relay", root)
		m.meet()
		defer m.meet() // memory stays until all are done
		if m.rank == owner {
			return wantMissed(err, collective.Chunk, root)
		}
		const start = 1
		told, ferr := m.flag(owner)
		if ferr == nil && told != start {
			ferr = fmt.Errorf("rank %d has come to epoch %d", owner, told)
		}
		return errors.Join(ferr, wantMissed(err, collective.EndBarrier, owner))
	})
}

// flag is what a peer's block 0 has last told this rank.
func (m *member) flag(peer int) (uint32, error) {
	pad := make([]byte, collective.SignalPadBytes)
	if err := m.stream.Download(pad, m.comm.Local(0)); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(pad[unsafe.Offsetof(collective.SignalPad{}.Flags)+4*uintptr(peer):]), nil
}

// Chunks that were told of in one call are not taken for those of the next, whose root comes late.
func TestChunksAreThoseOfTheirCall(t *testing.T) {
	const world, root = 3, 0
	for _, name := range []string{"chain", "relay"} {
		group{world: world, blocks: 1}.run(t, func(m *member) error {
			for seed := range uint64(3) {
				c := m.chunkedCall(name, root)
				c.in.Seed, c.count = seed, c.count>>seed // fewer each time, all of which might seem to be there
				if err := c.fill(m); err != nil {
					return err
				}
				m.meet()
				if m.rank == root {
					time.Sleep(20 * time.Millisecond) // the lateness under test
				}
				if err := errors.Join(c.enqueue(m), m.synchronize()); err != nil {
					return err
				}
				if _, err := c.check(m); err != nil {
					return fmt.Errorf("call %d: %w", seed, err)
				}
			}
			return nil
		})
	}
}

// Epochs, flags and slots go on behind chunks, which are told of to some ranks alone: every other call is of any
// algorithm, a barrier too, and nobody waits for one to end. Roots, and with the sizes the grids, alternate.
func TestEpochsGoOnBehindChunks(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(12, 0, 1, 2, 3) {
		world := 2 + int(seed%4)
		g := group{
			world: world, blocks: 1 + int(seed%3)*2, pdl: seed%2 == 1, backend: sim.New(1, sim.Options{Seed: seed + 1}),
		}
		g.run(t, func(m *member) error {
			common, own := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, uint64(m.rank)))
			for range 3 {
				b := drawBatch(common, world)
				for i := 0; i < len(b.calls); i += 2 {
					chunked := calls(world, byChunks)
					c := chunked[common.IntN(len(chunked))]
					c.in.Seed, c.root, c.offset = common.Uint64(), common.IntN(world), int64(i*batchBytes)
					c.count = 1 + common.Int64N(c.room(batchBytes)>>common.IntN(8))
					b.calls[i] = c
				}
				if err := b.run(m, own); err != nil {
					return fmt.Errorf("seed %d: %w", seed, err)
				}
				if err := errors.Join(barrier.Flag().Enqueue(m.comm, m.stream, barrierCall), m.synchronize()); err != nil {
					return fmt.Errorf("seed %d, a barrier: %w", seed, err)
				}
			}
			return nil
		})
	}
}

// chunkGroup is a group of impatient ranks, one of whose algorithms of broadcast is not as it should be.
func chunkGroup(name string, world, blocks int, of, by string) group {
	return group{world: world, blocks: blocks, source: mutatedModule("broadcast_"+name, of, by), timeout: time.Second}
}

// chunked makes a call of an algorithm of broadcast.
func (m *member) chunked(name string, root int) error {
	return errors.Join(m.chunkedCall(name, root).enqueue(m), m.synchronize())
}

// chunkedCall is a call that goes through the stages several times.
func (m *member) chunkedCall(name string, root int) testCall {
	c := calls(m.world, func(a *collective.Algorithm) bool { return a.Collective == "broadcast" && a.Name == name })[0]
	c.root, c.count = root, c.room(bufferBytes)
	return c
}
