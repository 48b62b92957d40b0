package worker

import (
	"testing"

	"gpurun/cudart"
	"gpurun/worker/workload"
)

// casesOf are those of a job on so many ranks of the simulator.
func casesOf(t testing.TB, job workload.Job, world int) []workload.Case {
	t.Helper()
	p, err := job.Plan(world)
	if err != nil {
		t.Fatal(err)
	}
	caps := workload.Capabilities{}
	for range world {
		caps.Devices = append(caps.Devices, cudart.Info{Backend: "sim", Name: "gpurun simulator", Major: 10, SMs: 4})
	}
	if _, err := p.Choose(caps); err != nil {
		t.Fatal(err)
	}
	return p.Cases
}
