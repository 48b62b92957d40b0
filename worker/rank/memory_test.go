package rank

import (
	"testing"

	"gpurun/cudart/symm"
	"gpurun/worker/library"
	"gpurun/worker/workload"
)

// Across machines each rank's memory is its own.
func TestMemoryAcrossMachinesIsPrivate(t *testing.T) {
	job := workload.Job{
		Collective: "allreduce", Algorithms: []string{"nccl"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes:      []int64{1 << 10},
		Iterations: 1, Nodes: 2,
	}
	plan, err := job.Plan(4)
	if err != nil {
		t.Fatal(err)
	}
	r := &Rank{options: Options{Job: job}, Libraries: library.New(library.Options{})}
	o, err := (&settlement{Rank: r, plan: &plan, caps: &workload.Capabilities{SpansMachines: true}}).memoryOptions(1)
	if err != nil || o.Kind != symm.Private {
		t.Errorf("%+v, %v", o, err)
	}
}
