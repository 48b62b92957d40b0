package check

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"gpurun/cudart/sim/check/finding"
)

// ScheduleDependent: the schedules of a task have different results, though none of them has a race.
const ScheduleDependent = finding.ScheduleDependent

// Result is what a rank has computed in a run, by its digest.
type Result struct {
	Rank   int
	Name   string
	Bytes  int
	Digest [sha256.Size]byte
}

// Result tells the run what the rank has computed, such as its output after the last call. A name stands for one result
// of a rank: the last one counts. [CompareResults] compares those of several schedules.
func (r *Rank) Result(name string, data []byte) {
	all := &r.run.results
	*all = slices.DeleteFunc(*all, func(o Result) bool { return o.Rank == r.Number && o.Name == name })
	*all = append(*all, Result{Rank: r.Number, Name: name, Bytes: len(data), Digest: r.digest(name, data)})
}

// knownDigest is a result of an earlier run of the checker, and its digest.
type knownDigest struct {
	data   []byte
	digest [sha256.Size]byte
}

// digest is that of a result. Most schedules have the same results, and to compare them takes less time.
func (r *Rank) digest(name string, data []byte) [sha256.Size]byte {
	key := resultKey{r.Number, name}
	known, ok := r.run.checker.kept.Load(key)
	if k, _ := known.(knownDigest); ok && bytes.Equal(k.data, data) {
		return k.digest
	}
	digest := sha256.Sum256(data)
	if !ok {
		r.run.checker.kept.Store(key, knownDigest{bytes.Clone(data), digest})
	}
	return digest
}

// sortedResults are the results of a run, by rank and name.
func (r *run) sortedResults() []Result {
	return slices.SortedFunc(slices.Values(r.results), func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Name, b.Name))
	})
}

// CompareResults compares the results of schedules of one task. Each result that differs is a finding, which names the
// seeds of the two schedules that show it first. Runs with findings or that are incomplete are left out: their results
// have other causes. Notes leave a run in.
func CompareResults(reports []*Report) []Finding {
	var c comparison
	var all []Finding
	for _, report := range reports {
		all = append(all, c.add(report)...)
	}
	return all
}

// comparison remembers the first result of each rank and name.
type comparison struct{ first map[resultKey]firstResult }

type resultKey struct {
	rank int
	name string
}

type firstResult struct {
	Result
	seed   uint64
	differ bool // from a later one, and a finding says so
}

// add compares the results of a schedule with the first ones. Each result is a finding once.
func (c *comparison) add(report *Report) (found []Finding) {
	mistake := func(f Finding) bool { return !f.Note }
	if len(report.Incomplete) > 0 || slices.ContainsFunc(report.Findings, mistake) {
		return nil
	}
	if c.first == nil {
		c.first = map[resultKey]firstResult{}
	}
	for _, r := range report.Results {
		k := resultKey{r.Rank, r.Name}
		before, some := c.first[k]
		switch {
		case !some:
			c.first[k] = firstResult{Result: r, seed: report.Seed}
		case before.Digest != r.Digest && !before.differ:
			found = append(found, dependent(before.Result, r, before.seed, report.Seed))
			before.differ = true
			c.first[k] = before
		}
	}
	return found
}

// dependent is the finding of two results that differ.
func dependent(first, second Result, seed, other uint64) Finding {
	side := func(r Result, seed uint64) Access {
		return Access{
			Actor: Actor{Rank: r.Rank, Command: "result"},
			Text:  fmt.Sprintf("%s of %d bytes with digest %x, seed %d", r.Name, r.Bytes, r.Digest[:4], seed),
		}
	}
	return Finding{
		Kind: ScheduleDependent, Cause: "the result depends on the schedule", Count: 1,
		Sides: []Access{side(first, seed), side(second, other)}, Bytes: uint64(second.Bytes),
		Where: fmt.Sprintf("rank %d's %s with seeds %d and %d", first.Rank, first.Name, seed, other),
		Advice: "no race explains it: look for an order that kernels take for granted, such as the order of atomic " +
			"operations or of tickets",
	}
}
