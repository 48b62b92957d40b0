package conformance

import (
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/reduce"
)

// A warp that polls mailboxes does not use up a run in which it has the highest priority. Its lanes wait for different
// mailboxes, in a loop of many loads, so that it is never seen to wait where each turn has one access.
func TestPollingMailboxesEnds(t *testing.T) {
	t.Parallel()
	calls := checktask.Calls{
		Algorithm: reduce.TwoShotLamport(), Shape: reduce.Collective().Shape, DType: collective.Float,
		Op: collective.Sum, Root: 1, Counts: []int64{256}, Launches: 2,
	}
	found, err := check.Explore(check.Config{Ranks: 4, Processes: true, Steps: 1 << 18},
		check.Exploration{Strategies: []check.Strategy{check.PCT}, Schedules: 8, Seed: 2}, calls.Task)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Clean() {
		t.Errorf("error %v, %v, incomplete %q", found.Err, found.Findings, found.Incomplete)
	}
}
