package conformance

import (
	"bytes"
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
	"gpurun/kernels/reference"
)

// byBulk reports whether an algorithm goes by bulk copies.
func byBulk(a *collective.Algorithm) bool { return strings.HasSuffix(a.Name, "bulk") }

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
	for name, tt := range map[string]struct {
		of, by     string // what takes the place of what
		algorithms string
	}{
		"loads":             {`mbarrier\.try_wait[^;]*;`, "setp.eq.u32 ended, 0, 0;", "allgather allreduce broadcast reduce"},
		"stores' reads":     {`cp\.async\.bulk\.wait_group\.read \d+;`, "", "allgather allreduce broadcast reduce"},
		"stores' writes":    {`cp\.async\.bulk\.wait_group 0;`, "cp.async.bulk.wait_group.read 0;", "allgather allreduce broadcast reduce"},
		"stores' beginning": {`cp\.async\.bulk\.commit_group;`, "", "allgather allreduce broadcast reduce"},
		"what threads wrote": {`fence\.proxy\.async;`, "", "allreduce reduce"},
	} {
		spoilt := func(module string) ([]byte, error) {
			text, err := ptx.Source(module)
			if strings.Contains(module, "bulk") {
				text = regexp.MustCompile(tt.of).ReplaceAll(text, []byte(tt.by))
			}
			return text, err
		}
		for of := range strings.FieldsSeq(tt.algorithms) {
			t.Run(name+" of "+of, func(t *testing.T) {
				if !goesWrong(t, of, spoilt) {
					t.Error("no seed finds that it is missing")
				}
			})
		}
	}
}

// goesWrong reports whether some seed makes a collective by bulk copies wrong with
// kernels from a source.
func goesWrong(t *testing.T, of string, source collective.Source) bool {
	t.Helper()
	var wrong errWrong
	for seed := uint64(1); seed <= 30; seed++ {
		g := group{world: 2, blocks: 1, source: source, timeout: time.Second, backend: sim.New(1, sim.Options{Seed: seed})}
		results := make([]error, g.world)
		g.run(t, func(m *member) error {
			for _, c := range calls(m.world, byBulk) {
				if c.collective.Name != of {
					continue
				}
				c.in.Seed, c.count = seed, c.fit(bufferBytes)
				_, results[m.rank] = c.run(m)
			}
			return nil
		})
		if err := errors.Join(results...); err != nil {
			t.Logf("seed %d: %v", seed, err)
			return true
		}
	}
	return wrong
}

type errWrong = bool

var _ = bytes.Equal
var _ reference.Pattern
