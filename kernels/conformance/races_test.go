package conformance

import (
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
)

// checkedCalls are calls of an algorithm of allreduce that follow each other, for the race checker.
func checkedCalls(a *collective.Algorithm, count int64) checktask.Calls {
	return checktask.Calls{
		Algorithm: a, Shape: allreduce.Collective().Shape, DType: collective.Float, Op: collective.Sum,
		Counts: []int64{count}, Launches: 3, MaxBlocks: 2,
	}
}

func newChecker(t testing.TB, ranks int) *check.Checker {
	t.Helper()
	c, err := check.New(check.Config{Ranks: ranks, Processes: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The algorithms of allreduce have no race, and neither have calls that use the memory of earlier ones again.
func TestAllreduceHasNoRace(t *testing.T) {
	t.Parallel()
	for _, a := range allreduce.Collective().Algorithms {
		if a.Needs.Library != "" {
			continue
		}
		calls := checkedCalls(a, 1501)
		for _, ranks := range []int{1, 2, 3} {
			checker := newChecker(t, ranks)
			for _, seed := range seeds(16, 0, 1) {
				if r, err := checker.Run(seed, calls.Task); err != nil || !r.Clean() {
					t.Errorf("%s, %d ranks, seed %d: error %v, %v, incomplete %q", a.Name, ranks, seed, err, r.Findings,
						r.Incomplete)
				}
			}
		}
	}
}
