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
)

// usesBulkCopies reports whether the kernel of an algorithm makes bulk copies.
func usesBulkCopies(a *collective.Algorithm) bool {
	return a.Name == "bulk"
}

// Stages are used several times, and last chunks are short. In disorder, copies end at random times, and stores become
// visible late.
func TestBulkCopiesInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(12, 0, 2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			g := group{
				world: 2 + int(seed%4), blocks: 1 + int(seed%3), pdl: seed%2 == 1, backend: sim.New(1, sim.Options{Seed: seed}),
			}
			g.run(t, func(m *member) error { return bulkCalls(m, seed) })
		})
	}
}

// bulkCalls makes a call of every algorithm, the same on all ranks.
func bulkCalls(m *member, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for _, c := range calls(m.world, usesBulkCopies) {
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

// Every wait and every fence of a kernel with bulk copies is needed: without one of them, disorder makes some result
// wrong.
func TestBulkCopiesNeedEveryWait(t *testing.T) {
	parallelInSimulator(t)
	const one, many = collective.BulkStageBytes, bufferBytes // bytes: a chunk, and the ring many times
	for _, tt := range []struct {
		what, of, by string // what the kernel lacks: `by` replaces the pattern `of`
		bytes        int64
	}{
		{"that a load ended", `mbarrier\.try_wait[^;]*;`, "setp.eq.u32 ended, 0, 0;", many},
		{"that a store has read its stage", `cp\.async\.bulk\.wait_group\.read \d+;`, "", many},
		{"that stores were written", `cp\.async\.bulk\.wait_group 0;`, "cp.async.bulk.wait_group.read 0;", one},
		{"the group of a store", `cp\.async\.bulk\.commit_group;`, "", one},
	} {
		for _, name := range []string{"allgather bulk", "broadcast bulk"} {
			t.Run(tt.what+", "+name, func(t *testing.T) {
				mutated := mutatedModule(strings.ReplaceAll(name, " ", "_"), tt.of, tt.by)
				for seed := uint64(1); seed <= 1000; seed++ {
					if err := runMutated(t, name, tt.bytes, mutated, seed); err != nil {
						t.Logf("seed %d: %v", seed, err)
						return
					}
				}
				t.Error("no seed finds that it is missing")
			})
		}
	}
}

// mutatedModule is the kernels of the catalog, with one change: in the modules of one name, `by` replaces the pattern
// `of`.
func mutatedModule(name, of, by string) collective.Source {
	return readOnce(func(module string) ([]byte, error) {
		text, err := catalog(module)
		if strings.HasPrefix(module, name+"_sm") {
			text = regexp.MustCompile(of).ReplaceAll(text, []byte(by))
		}
		return text, err
	})
}

// runMutated makes a call of an algorithm with kernels from a source, and returns what is wrong with the result.
func runMutated(t *testing.T, name string, bytes int64, source collective.Source, seed uint64) error {
	t.Helper()
	g := group{world: 3, blocks: 1, source: source, timeout: time.Second, backend: sim.New(1, sim.Options{Seed: seed})}
	wrong := make([]error, g.world)
	g.run(t, func(m *member) error {
		for _, c := range calls(m.world, usesBulkCopies) {
			if c.collective.Name+" "+c.algorithm.Name == name {
				c.in.Seed = seed
				c.count = c.fit(bytes / int64(c.in.DType.Size))
				_, wrong[m.rank] = c.run(m)
			}
		}
		return nil
	})
	return errors.Join(wrong...)
}
