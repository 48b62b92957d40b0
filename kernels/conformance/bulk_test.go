package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// byBulk reports whether an algorithm goes by bulk copies.
func byBulk(a *collective.Algorithm) bool {
	return slices.Contains([]string{"bulk", "chain", "relay"}, a.Name)
}

// Rings that are gone through several times, and chunks that are cut short, while copies
// end when they please and what threads stored is seen late.
func TestBulkCopiesInDisorder(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			g := group{world: 2 + int(seed%4), blocks: 1 + int(seed%3), pdl: seed%2 == 1, backend: sim.New(1, sim.Options{Seed: seed})}
			g.run(t, func(m *member) error { return bulkCalls(m, seed) })
		})
	}
}

// bulkCalls makes a call of every algorithm, the same on all ranks.
func bulkCalls(m *member, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for _, c := range calls(m.world, byBulk) {
		c.in.Seed, c.in.DType, c.root = seed, collective.EpilogueDTypes()[seed%3], r.IntN(m.world)
		most := c.fit(bufferBytes)
		c.count = most - r.Int64N(most/2)
		c.inPlace = r.IntN(2) == 0 && c.canRunInPlace()
		if _, err := c.run(m); err != nil {
			return err
		}
	}
	return nil
}

// Every wait and every fence of a kernel that copies in bulk is needed: without it,
// disorder makes some result wrong.
func TestBulkCopiesMustBeWaitedFor(t *testing.T) {
	const one, many = collective.BulkStageBytes, bufferBytes // bytes: a chunk, and the ring many times
	all := []string{"allgather bulk", "broadcast bulk", "broadcast chain", "broadcast relay"}
	relay := all[3:]
	for _, tt := range []struct {
		what, of, by string // what takes the place of what
		bytes        int64
		offset       int64 // of the buffers
		in           []string
	}{
		{"that a load ended", `mbarrier\.try_wait[^;]*;`, "setp.eq.u32 ended, 0, 0;", many, 0, all},
		{"that a store has read its stage", `cp\.async\.bulk\.wait_group\.read \d+;`, "", many, 0, slices.Concat(all[:2], relay)},
		{"that stores were written", `cp\.async\.bulk\.wait_group 0;`, "cp.async.bulk.wait_group.read 0;", one, 0, all},
		{"the group of a store", `cp\.async\.bulk\.commit_group;`, "", one, 0, all},
		{"that a chunk is there", inChain + awaitsFlag, "${1}mov.b32 ${2}, 0x40000000;", one, 0, all[2:]},
		{"the fence behind a chunk", inChain + `fence\.acq_rel\.sys;`, "$1", one, 4, all[2:]},
		{"whose turn it is", `ld\.acquire\.cta[^;]*;(\s*setp\.ne\.b32 %p\d+, ?(%r\d+), ?(%r\d+);)`, "mov.b32 $2, $3;$1", many, 0, all[2:]},
	} {
		spoilt := func(module string) ([]byte, error) {
			text, err := ptx.Source(module)
			if strings.Contains(module, "bulk") || strings.Contains(module, "chain") || strings.Contains(module, "relay") {
				text = regexp.MustCompile(tt.of).ReplaceAll(text, []byte(tt.by))
			}
			return text, err
		}
		for _, name := range tt.in {
			t.Run(tt.what+", "+name, func(t *testing.T) {
				for seed := uint64(1); seed <= 1000; seed++ {
					if err := spoiltCall(t, name, tt.bytes, tt.offset, spoilt, seed); err != nil {
						t.Logf("seed %d: %v", seed, err)
						return
					}
				}
				t.Error("no seed finds that it is missing")
			})
		}
	}
}

// inChain is what comes before a rank waits for a chunk and tells of it: its stages' first state. awaitsFlag is how
// it looks at the flag.
const (
	inChain    = `(?s)(mbarrier\.init.*?)`
	awaitsFlag = `ld\.acquire\.sys\.global\.u32 (%r\d+)[^;]*;`
)

// spoiltCall says what is wrong with a call of an algorithm, with kernels from a
// source.
func spoiltCall(t *testing.T, name string, bytes, offset int64, source collective.Source, seed uint64) error {
	t.Helper()
	g := group{world: 3, blocks: 1, source: source, timeout: time.Second, backend: sim.New(1, sim.Options{Seed: seed})}
	wrong := make([]error, g.world)
	g.run(t, func(m *member) error {
		for _, c := range calls(m.world, byBulk) {
			if c.collective.Name+" "+c.algorithm.Name == name {
				c.in.Seed, c.offset = seed, offset
				c.count = c.fit(bytes / int64(c.in.DType.Size))
				_, wrong[m.rank] = c.run(m)
			}
		}
		return nil
	})
	return errors.Join(wrong...)
}

// A rank that is not told of a chunk names the one in front, and ends with all of its warps, whichever chunk
// each waits for.
func TestChunkThatIsNotToldOfIsNamed(t *testing.T) {
	const world, root = 4, 2
	chainGroup(world, `red\.relaxed\.sys[^;]*;`, "").run(t, func(m *member) error {
		defer m.meet() // memory stays until all are done
		err := m.chain(root)
		previous := (m.rank + world - 1) % world
		var expired *collective.TimeoutError
		if m.rank == root {
			return err
		}
		if !errors.As(err, &expired) || expired.Phase != collective.Chunk || expired.Peer != previous {
			return fmt.Errorf("want a chunk of rank %d to be missed, got %w", previous, err)
		}
		return nil
	})
}

// Once a chunk has been missed, the next rank is told of no later one either, which have come.
func TestNothingIsToldOfBehindAMissedChunk(t *testing.T) {
	const world, root = 3, 0
	missed := "$0 { .reg .pred first; .reg .b32 thread; mov.u32 thread, %tid.x; setp.eq.u32 first, thread, 0; @first mov.b32 $2, 0; }"
	chainGroup(world, inChain+awaitsFlag, missed).run(t, func(m *member) error {
		err := m.chain(root)
		m.meet()
		defer m.meet() // memory stays until all are done
		if (err == nil) != (m.rank == root) {
			return fmt.Errorf("want a chunk to be missed by all but the root, got %w", err)
		}
		pad := make([]byte, collective.SignalPadBytes)
		if err := m.stream.Download(pad, m.comm.Local(0)); err != nil {
			return err
		}
		const start = 1
		flag := unsafe.Offsetof(collective.SignalPad{}.Flags) + 4*uintptr((m.rank+world-1)%world)
		if told := binary.LittleEndian.Uint32(pad[flag:]); m.rank == 2 && told != start {
			return fmt.Errorf("rank 1 has told of %d chunks behind one that it missed", told-start)
		}
		return nil
	})
}

// Chunks that were told of in one call are not taken for those of the next, whose root comes late.
func TestChunksAreThoseOfTheirCall(t *testing.T) {
	const world, root = 2, 0
	group{world: world, blocks: 1}.run(t, func(m *member) error {
		for seed := range uint64(3) {
			c := m.chainCall(root)
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

// chainGroup is a group of impatient ranks whose chain is not as it should be.
func chainGroup(world int, of, by string) group {
	spoilt := func(module string) ([]byte, error) {
		text, err := ptx.Source(module)
		if strings.Contains(module, "chain") {
			text = regexp.MustCompile(of).ReplaceAll(text, []byte(by))
		}
		return text, err
	}
	return group{world: world, blocks: 2, source: spoilt, timeout: time.Second}
}

// chain makes a call of broadcast's chain.
func (m *member) chain(root int) error {
	return errors.Join(m.chainCall(root).enqueue(m), m.synchronize())
}

// chainCall is a call that goes through the ring several times.
func (m *member) chainCall(root int) testCall {
	c := calls(m.world, func(a *collective.Algorithm) bool { return a.Name == "chain" })[0]
	c.root, c.count = root, c.room(bufferBytes)
	return c
}
