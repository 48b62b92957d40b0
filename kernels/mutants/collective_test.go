package mutants

import (
	"bytes"
	"slices"

	"gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// The calls of collectives: large ones in a row, since a call may disturb the next, and small after large; vectors and
// tails. Two blocks share the work. The root is the last rank: many a mutant is about rank 1, and a root often has
// nothing to tell the others.
var collectiveCounts = []int64{601, 40, 520}

// bulkCounts are those of bulk copies by one block: 13 chunks, 10 chunks and one. So the last chunk is of an odd and of
// an even number, and stages of shared memory are used once, twice and three times.
var bulkCounts = []int64{53_001, 40_001, 40}

const (
	launches  = 2 // of each count
	pairShare = 4 // one in how many mutants of kernels for two ranks is judged: most are like those for any number
	blocks    = 2
)

// collectives lists the kernels of all collectives, for some ranks.
func collectives(world int) (all []*subject, err error) {
	for _, c := range kernels.Collectives() {
		for _, a := range c.Algorithms {
			if a.Needs.Library != "" {
				continue
			}
			op := collective.None
			if c.Shape.Reduces {
				op = collective.Sum
			}
			entries := slices.Clone(a.Others)
			if k, ok := a.Find(collective.Float, op, collective.NoEpilogue, world, 100); ok {
				entries = append(entries, k)
			}
			for _, k := range entries {
				text, err := ptx.Source(k.Module.Name)
				if err != nil {
					return nil, err
				}
				calls := checktask.Calls{
					Algorithm: a, Shape: c.Shape, DType: collective.Float, Op: op, Root: world - 1, Counts: collectiveCounts,
					Launches: launches, MaxBlocks: blocks,
				}
				if c.Shape.Empty {
					calls.Counts = []int64{0, 0, 0}
				}
				if a.Needs.Mailboxes {
					// A rank that waits for nothing overwrites the slot of two calls before. Calls of another size have their
					// keys elsewhere, so that a key that is not erased is taken for one of two calls later.
					calls.Launches = launches + 1
				}
				all = append(all, collectiveSubject(c.Name+" "+a.Name, world, k, text, calls))
			}
		}
	}
	return all, nil
}

// collectiveSubject is a kernel of a collective.
func collectiveSubject(name string, world int, k collective.Kernel, text []byte, calls checktask.Calls) *subject {
	s := &subject{name: name, world: world, module: k.Module.Name, entry: k.Entry, text: text, share: 1}
	if world == 2 {
		s.share = pairShare
	}
	pdl, absent := calls, calls
	pdl.PDL = true
	absent.Root = 1 // not the last rank, which never comes
	if !calls.Shape.Empty {
		absent.Counts = bulkCounts[:1] // for several blocks
	}
	if bytes.Contains(text, []byte("cp.async.bulk")) {
		skewed := calls
		skewed.Counts, skewed.Skew = calls.Counts[:1], 4 // of two blocks
		calls.Counts, calls.MaxBlocks = bulkCounts, 1
		pdl.Counts, pdl.MaxBlocks = bulkCounts, 1
		s.varied = task(k.Module.Name, skewed, (*checktask.Calls).Task)
	}
	s.task = task(k.Module.Name, calls, (*checktask.Calls).Task)
	s.pdl = task(k.Module.Name, pdl, (*checktask.Calls).Task)
	s.absent = task(k.Module.Name, absent, (*checktask.Calls).Absent)
	return s
}

// task makes tasks of calls with another text of a module.
func task(module string, calls checktask.Calls, do func(*checktask.Calls, *check.Rank) error,
) func([]byte) (func(*check.Rank) error, error) {
	return func(text []byte) (func(*check.Rank) error, error) {
		with := calls
		with.Source = replaced(module, text)
		return func(r *check.Rank) error { return do(&with, r) }, nil
	}
}

// replaced is the modules that ship, but for the text of one.
func replaced(module string, text []byte) collective.Source {
	return func(name string) ([]byte, error) {
		if name == module {
			return text, nil
		}
		return ptx.Source(name)
	}
}
