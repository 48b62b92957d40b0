package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
)

// usesBulkCopies reports whether the kernel of an algorithm makes bulk copies.
func usesBulkCopies(a *collective.Algorithm) bool {
	return slices.Contains([]string{"bulk", "relay", "twoshot_bulk"}, a.Name)
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
	all := []string{"allgather bulk", "broadcast bulk", "broadcast relay"}
	relay := all[2:]
	for _, tt := range []struct {
		what, of, by string // what the kernel lacks: `by` replaces the pattern `of`
		bytes        int64
		offset       int64 // of the buffers
		in           []string
	}{
		{"that a load ended", `mbarrier\.try_wait[^;]*;`, "setp.eq.u32 ended, 0, 0;", many, 0, all},
		{"that a store has read its stage", `cp\.async\.bulk\.wait_group\.read \d+;`, "", many, 0, all},
		{"that stores were written", `cp\.async\.bulk\.wait_group 0;`, "cp.async.bulk.wait_group.read 0;", one, 0, all},
		{"that they were, before they are told of", `cp\.async\.bulk\.wait_group 0;(\s*fence)`, "$1", one, 0, relay},
		{"that they were, at the end", `(?s)^(.*)cp\.async\.bulk\.wait_group 0;`, "$1", one, 0, relay},
		{"for all at the end", lastWait, skipsWait, many, 0, relay},
		{"the group of a store", `cp\.async\.bulk\.commit_group;`, "", one, 0, all},
		{"that a chunk is there", lastWaitButOne, skipsWait, one, 0, relay},
		{"the fence behind a chunk", `(cp\.async\.bulk\.wait_group 0;\s*)fence\.acq_rel\.sys;`, "$1", one, 4, relay},
		{
			"whose turn it is", `ld\.acquire\.cta[^;]*;(\s*setp\.ne\.b32 %p\d+, ?(%r\d+), ?(%r\d+);)`, "mov.b32 $2, $3;$1", many,
			0, relay,
		},
	} {
		for _, name := range tt.in {
			t.Run(tt.what+", "+name, func(t *testing.T) {
				mutated := mutatedModule(strings.ReplaceAll(name, " ", "_"), tt.of, tt.by)
				for seed := uint64(1); seed <= 1000; seed++ {
					if err := runMutated(t, name, tt.bytes, tt.offset, mutated, seed); err != nil {
						t.Logf("seed %d: %v", seed, err)
						return
					}
				}
				t.Error("no seed finds that it is missing")
			})
		}
	}
}

// Patterns of the waits for flags in PTX. A kernel waits for flags at the first barrier, for a chunk, and at the last
// barrier. skipsWait replaces a wait.
const (
	flagWait       = `(?s)^(.*)(ld\.acquire\.sys\.global\.u32 (%r\d+)[^;]*;)`
	lastWait       = flagWait + `(.*)$`
	lastWaitButOne = flagWait + `(.*ld\.acquire\.sys.*)$`
	skipsWait      = "${1}mov.b32 ${3}, 0x40000000;${4}"
)

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
func runMutated(t *testing.T, name string, bytes, offset int64, source collective.Source, seed uint64) error {
	t.Helper()
	g := group{world: 3, blocks: 1, source: source, timeout: time.Second, backend: sim.New(1, sim.Options{Seed: seed})}
	wrong := make([]error, g.world)
	g.run(t, func(m *member) error {
		for _, c := range calls(m.world, usesBulkCopies) {
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
