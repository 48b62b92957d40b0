package conformance

import (
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
	"gpurun/kernels/allgather"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
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

// Runs end in which one warp comes last for as long as others can go on, and those poll vectors of which some words are
// missing: each word of a vector is stored by itself here. The words are correct all the same.
func TestPollingTornVectorsEnds(t *testing.T) {
	t.Parallel()
	const module, entry = "allgather_lamport_sm_90", "allgather_lamport"
	text, err := ptx.Source(module)
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := mutate.All(module, text, entry)
	if err != nil {
		t.Fatal(err)
	}
	checker, err := check.New(check.Config{Ranks: 3, Processes: true, Steps: 1 << 18})
	if err != nil {
		t.Fatal(err)
	}
	torn := 0
	for _, m := range mutants {
		if m.Class != mutate.PacketTorn {
			continue
		}
		torn++
		calls := checktask.Calls{
			Algorithm: allgather.Lamport(), Shape: allgather.Collective().Shape, DType: collective.Float, Op: collective.None,
			Counts: []int64{3 * 127, 3 * 128}, Launches: 2,
			Source: func(string) ([]byte, error) { return m.Text(text), nil },
		}
		for seed := range uint64(4) {
			if r, err := checker.RunStrategy(check.Late, seed, calls.Task); err != nil || !r.Clean() {
				t.Errorf("%v, seed %d: error %v, %v, incomplete %q", m, seed, err, r.Findings, r.Incomplete)
			}
		}
	}
	if torn == 0 {
		t.Errorf("%s stores no vectors", module)
	}
}
