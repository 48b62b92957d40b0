package mutants

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"gpurun/cudart/sim/check/mutate"
)

// all reports whether all mutants are wanted.
func all() bool { return os.Getenv("GPURUN_MUTANTS") == "all" }

// subjects are the kernels that can be judged. A kernel that several algorithms use is judged with the first; of those
// for any number of ranks and those for one, both are.
func subjects() (kept []*subject, err error) {
	list, err := examples()
	if err != nil {
		return nil, err
	}
	fused, err := products()
	if err != nil {
		return nil, err
	}
	list = append(list, fused...)
	for _, world := range []int{3, 2} {
		more, err := collectives(world)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	known := map[[2]string]bool{}
	for _, s := range list {
		key := [2]string{s.module, s.entry}
		if !known[key] {
			kept = append(kept, s)
		}
		known[key] = true
	}
	return kept, nil
}

// candidate is a mutant that is to be judged.
type candidate struct {
	*subject
	*mutate.Mutant
}

// part says which part of the mutants is run: all, by GPURUN_EXHAUSTIVE a tenth, and otherwise a fortieth.
func part() uint32 {
	switch {
	case all():
		return 1
	case os.Getenv("GPURUN_EXHAUSTIVE") == "1":
		return 10
	}
	return 40
}

// isWanted picks mutants, the same ones each time: those of the subject's share, and of these the part that is run.
func (c candidate) isWanted() bool {
	h := fnv.New32a()
	fmt.Fprint(h, c.module, c.entry, c.Mutant)
	one := uint32(max(c.share, 1)) * part()
	if !all() && c.major == 9 { // runs with wgmma take seconds each
		return false
	}
	return h.Sum32()%one == 0
}

// candidates makes the mutants of all subjects that are run.
func candidates(list []*subject) (some []candidate, err error) {
	for _, s := range list {
		mutants, err := mutate.All(s.module, s.text, s.entry)
		if err != nil {
			return nil, err
		}
		for _, m := range mutants {
			if c := (candidate{s, m}); c.isWanted() {
				some = append(some, c)
			}
		}
	}
	return some, nil
}

// judgeAll judges mutants in parallel. The results are in their order.
func judgeAll(t *testing.T, list []candidate) []result {
	t.Helper()
	results, errs := make([]result, len(list)), make([]error, len(list))
	inParallel(len(list), func(i int) { results[i], errs[i] = list[i].judge(list[i].Mutant) })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return results
}

// inParallel does something for each of some numbers.
func inParallel(n int, do func(i int)) {
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range numbers {
				do(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}

// judged are the results of the mutants that are run, and the kernels that are not modeled.
func judged(t *testing.T) (results []result, pending []*subject) {
	t.Helper()
	list, err := subjects()
	if err != nil {
		t.Fatal(err)
	}
	some, err := candidates(list)
	if err != nil {
		t.Fatal(err)
	}
	list = slices.DeleteFunc(list, func(s *subject) bool {
		return !slices.ContainsFunc(some, func(c candidate) bool { return c.subject == s })
	})
	errs := make([]error, len(list))
	inParallel(len(list), func(i int) { errs[i] = list[i].try() })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.pending != "" {
			pending = append(pending, s)
		}
	}
	some = slices.DeleteFunc(some, func(c candidate) bool { return c.pending != "" })
	return judgeAll(t, some), pending
}
