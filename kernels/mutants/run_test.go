package mutants

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"testing"

	"gpurun/cudart/sim/check/mutate"
)

// chosen says of which kernels all mutants are wanted: nil for a part of each kernel's.
func chosen() (func(*subject) bool, error) {
	switch pattern := os.Getenv("GPURUN_MUTANTS"); pattern {
	case "":
		return nil, nil
	case "all":
		return func(*subject) bool { return true }, nil
	case "none":
		return func(*subject) bool { return false }, nil
	default:
		rows, err := regexp.Compile(pattern)
		if err != nil {
			return nil, fmt.Errorf("GPURUN_MUTANTS: %w", err)
		}
		return func(s *subject) bool { return rows.MatchString(s.row()) }, nil
	}
}

// subjects are made once.
var subjects = sync.OnceValues(allSubjects)

// allSubjects are the kernels that can be judged. A kernel that several algorithms use is judged with the first;
// of those for any number of ranks and those for one, both are.
func allSubjects() (kept []*subject, err error) {
	list, err := examples()
	if err != nil {
		return nil, err
	}
	fused, err := products()
	if err != nil {
		return nil, err
	}
	local, err := localProducts()
	if err != nil {
		return nil, err
	}
	list = slices.Concat(list, fused, local)
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

// part says which part of the mutants is run without GPURUN_MUTANTS: one of 80, or with GPURUN_EXHAUSTIVE one of 16,
// by the number of the shard.
func part() (of, number uint32) {
	if os.Getenv("GPURUN_EXHAUSTIVE") != "1" {
		return 80, 0
	}
	if shard := os.Getenv("GPURUN_SHARD"); shard != "" {
		if _, err := fmt.Sscanf(shard, "%d/", &number); err != nil {
			panic(fmt.Sprintf("GPURUN_SHARD=%s is not of the form k/n", shard))
		}
	}
	return 16, number
}

// isWanted picks mutants, the same ones each time: part `number` of so many of those of the subject's share.
func (c candidate) isWanted(part, number uint32) bool {
	h := fnv.New32a()
	fmt.Fprint(h, c.module, c.entry, c.Mutant)
	share, sum := uint32(max(c.share, 1)), h.Sum32()
	if part > 1 && c.major == 9 { // runs with wgmma take seconds each
		return false
	}
	return sum%share == 0 && sum/share%part == number%part
}

// candidates makes the mutants that are run, of some subjects all.
func candidates(list []*subject, chosen func(*subject) bool) (some []candidate, err error) {
	one, number := part()
	if chosen != nil {
		one = 1
	}
	for _, s := range list {
		if chosen != nil && !chosen(s) {
			continue
		}
		mutants, err := mutate.All(s.module, s.text, s.entry)
		if err != nil {
			return nil, err
		}
		for _, m := range mutants {
			if c := (candidate{s, m}); c.isWanted(one, number) {
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

// judged are the results of the mutants that are run, and the kernels that they are made of, of which some may be
// pending.
func judged(t *testing.T, list []*subject, chosen func(*subject) bool) (results []result, judged []*subject) {
	t.Helper()
	some, err := candidates(list, chosen)
	if err != nil {
		t.Fatal(err)
	}
	judged = slices.DeleteFunc(slices.Clone(list), func(s *subject) bool {
		return (chosen == nil || !chosen(s)) && !slices.ContainsFunc(some, func(c candidate) bool { return c.subject == s })
	})
	for _, s := range judged {
		s.thorough = chosen != nil
	}
	errs := make([]error, len(judged))
	inParallel(len(judged), func(i int) { errs[i] = judged[i].try() })
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	some = slices.DeleteFunc(some, func(c candidate) bool { return c.pending != "" })
	return judgeAll(t, some), judged
}
