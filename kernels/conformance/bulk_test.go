package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// byBulk reports whether an algorithm goes by bulk copies.
func byBulk(a *collective.Algorithm) bool { return a.Name == "bulk" || a.Name == "chain" }

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
	for _, tt := range []struct {
		what, of, by string // what takes the place of what
		bytes        int64
	}{
		{"that a load ended", `mbarrier\.try_wait[^;]*;`, "setp.eq.u32 ended, 0, 0;", many},
		{"that a store has read its stage", `cp\.async\.bulk\.wait_group\.read \d+;`, "", many},
		{"that stores were written", `cp\.async\.bulk\.wait_group 0;`, "cp.async.bulk.wait_group.read 0;", one},
		{"the group of a store", `cp\.async\.bulk\.commit_group;`, "", one},
	} {
		spoilt := func(module string) ([]byte, error) {
			text, err := ptx.Source(module)
			if strings.Contains(module, "bulk") {
				text = regexp.MustCompile(tt.of).ReplaceAll(text, []byte(tt.by))
			}
			return text, err
		}
		for _, of := range []string{"allgather", "broadcast"} {
			t.Run(tt.what+", "+of, func(t *testing.T) {
				for seed := uint64(1); seed <= 1000; seed++ {
					if err := spoiltCall(t, of, tt.bytes, spoilt, seed); err != nil {
						t.Logf("seed %d: %v", seed, err)
						return
					}
				}
				t.Error("no seed finds that it is missing")
			})
		}
	}
}

// spoiltCall says what is wrong with a call of a collective, with kernels from a
// source.
func spoiltCall(t *testing.T, of string, bytes int64, source collective.Source, seed uint64) error {
	t.Helper()
	g := group{world: 3, blocks: 1, source: source, timeout: time.Second, backend: sim.New(1, sim.Options{Seed: seed})}
	wrong := make([]error, g.world)
	g.run(t, func(m *member) error {
		for _, c := range calls(m.world, byBulk) {
			if c.collective.Name == of {
				c.in.Seed, c.count = seed, c.fit(bytes/int64(c.in.DType.Size))
				_, wrong[m.rank] = c.run(m)
			}
		}
		return nil
	})
	return errors.Join(wrong...)
}
