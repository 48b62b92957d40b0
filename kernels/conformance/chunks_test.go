package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"gpurun/cudart/sim"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
)

// usesChunks reports whether the ranks of an algorithm notify each other of chunks.
func usesChunks(a *collective.Algorithm) bool {
	return a.Name == "relay"
}

// notification matches the instruction that notifies the next rank of a chunk.
const notification = `red\.relaxed\.sys[^;]*;`

// wantTimeoutFor returns nil if err is a time-out that reports a peer as missing in a phase.
func wantTimeoutFor(err error, phase collective.Phase, peer int) error {
	var expired *collective.TimeoutError
	if !errors.As(err, &expired) || expired.Phase != phase || expired.Peer != peer {
		return fmt.Errorf("want a time-out at the %s with rank %d missing, got %w", phase, peer, err)
	}
	return nil
}

// A root dies after it has notified a rank of a chunk. All ranks report the root as missing, at the next chunk or at
// the last barrier. So do ranks that wait for a rank which itself waits for the root.
func TestDeadRootIsReportedByAllRanks(t *testing.T) {
	t.Parallel()
	const world, root, start = 4, 3, 1 // a rank that waits for several ranks checks the root last
	for blocks := 1; blocks < world; blocks++ {
		t.Run(fmt.Sprintf("%d blocks", blocks), func(t *testing.T) {
			chunkGroup(world, blocks, notification, "$0 trap;").run(t, func(m *member) error {
				defer m.meet() // memory stays until all are done
				err := m.chunked(root)
				var expired *collective.TimeoutError
				switch owner := m.rank == 0; { // of block 0
				case m.rank == root && err == nil:
					return errors.New("want the root to die")
				case m.rank == root:
					return nil
				case !errors.As(err, &expired) || expired.Peer != root:
					return fmt.Errorf("want a time-out with the root missing, got %w", err)
				case blocks == 1 && owner && (expired.Phase != collective.Chunk || expired.Seen != start+1):
					return fmt.Errorf("want a time-out at the second chunk, got %w", err)
				}
				return nil
			})
		})
	}
}

// A rank that has missed a chunk does not arrive at the last barrier: otherwise the others would take the data for
// complete.
func TestRankThatMissedAChunkSkipsTheLastBarrier(t *testing.T) {
	t.Parallel()
	const world, root, owner = 3, 0, 1
	missed := "${1}${2} mov.b32 ${3}, 0;${4}"
	chunkGroup(world, 1, lastWaitButOne, missed).run(t, func(m *member) error {
		err := m.chunked(root)
		m.meet()
		defer m.meet() // memory stays until all are done
		if m.rank == owner {
			return wantTimeoutFor(err, collective.Chunk, root)
		}
		const start = 1
		flag, ferr := m.flag(owner)
		if ferr == nil && flag != start {
			ferr = fmt.Errorf("rank %d has stored epoch %d", owner, flag)
		}
		return errors.Join(ferr, wantTimeoutFor(err, collective.EndBarrier, owner))
	})
}

// flag is the value that a peer's block 0 has last stored to this rank's flag.
func (m *member) flag(peer int) (uint32, error) {
	pad := make([]byte, collective.SignalPadBytes)
	if err := m.stream.Download(pad, m.comm.Local(0)); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(pad[unsafe.Offsetof(collective.SignalPad{}.Flags)+4*uintptr(peer):]), nil
}

// Notifications of one call are not taken for those of the next call, whose root is late.
func TestChunksOfEarlierCallsDoNotCount(t *testing.T) {
	t.Parallel()
	const world, root = 3, 0
	group{world: world, blocks: 1}.run(t, func(m *member) error {
		for seed := range uint64(3) {
			c := m.chunkedCall(root)
			c.in.Seed, c.count = seed, c.count>>seed // fewer each time: the flags of the call before are high enough for all
			if err := c.fill(m); err != nil {
				return err
			}
			m.meet()
			if m.rank == root {
				m.sleep(20 * time.Millisecond) // the lateness under test
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

// Chunks count epochs on all ranks, although only some ranks are notified of them: epochs, flags and slots stay correct
// afterwards. Every other call is of a random algorithm, or a barrier, without a wait between calls. Roots, sizes and
// grids alternate.
func TestEpochsAfterChunks(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(12, 0, 3) {
		world := 2 + int(seed%4)
		g := group{
			world: world, blocks: 1 + int(seed%3)*2, pdl: seed%2 == 1, backend: sim.New(1, sim.Options{Seed: seed + 1}),
		}
		g.run(t, func(m *member) error {
			common, own := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, uint64(m.rank)))
			for range 3 {
				b := drawBatch(common, world)
				for i := 0; i < len(b.calls); i += 2 {
					chunked := calls(world, usesChunks)
					c := chunked[common.IntN(len(chunked))]
					c.in.Seed, c.root, c.offset = common.Uint64(), common.IntN(world), int64(i*batchBytes)
					c.count = 1 + common.Int64N(c.capacity(batchBytes)>>common.IntN(8))
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

// chunkGroup is a group with a short time-out, and with a changed module of relay: see mutatedModule.
func chunkGroup(world, blocks int, of, by string) group {
	return group{world: world, blocks: blocks, source: mutatedModule("broadcast_relay", of, by), timeout: time.Second}
}

// chunked makes a call of relay, and waits for it.
func (m *member) chunked(root int) error {
	return errors.Join(m.chunkedCall(root).enqueue(m), m.synchronize())
}

// chunkedCall is a call with so many chunks that every stage is used several times.
func (m *member) chunkedCall(root int) testCall {
	c := calls(m.world, usesChunks)[0]
	c.root, c.count = root, c.capacity(bufferBytes)
	return c
}
