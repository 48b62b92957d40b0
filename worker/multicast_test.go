package worker

import (
	"errors"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/worker/workload"
)

// unicasts find out only when memory is shared that one of them can have no
// multicast address.
type unicasts struct {
	cudart.Backend
	rank int
}

type unicast struct{ *sim.Device }

func (b unicasts) Open(ordinal int) (cudart.Device, error) {
	d, err := b.Backend.Open(ordinal)
	if err != nil || b.rank != 1 {
		return d, err
	}
	return unicast{d.(*sim.Device)}, nil
}

func (unicast) Multicast([]cudart.DevicePtr) (cudart.DevicePtr, error) {
	return 0, errors.New("no room in the switch")
}

// If allocation gives no multicast address, algorithms that need one are left out, or refused by
// name.
func TestWithoutMulticastAddress(t *testing.T) {
	g := ranks{world: 2, backend: func(rank int) cudart.Backend { return unicasts{sim.New(2, sim.Options{}), rank} }}
	job := workload.Job{
		Collective: "allreduce", Algorithms: []string{"multimem_oneshot", "twoshot"}, DTypes: []string{"float"},
		Ops:   []string{"sum"},
		Sizes: []int64{4096}, Cycles: 1, Iterations: 1, Verify: true,
		Optional: []string{"multimem_oneshot", "multimem_twoshot"},
	}
	results := g.mustRun(t, job)
	if len(results) == 0 || wrong(results) != 0 {
		t.Errorf("results %+v", results)
	}
	for _, r := range results {
		if r.Algorithm != "twoshot" {
			t.Errorf("%s ran", r.Algorithm)
		}
	}
	job.Optional = nil
	_, errs := g.run(t, job)
	for rank, err := range errs {
		const want = "multimem_oneshot cannot run: it needs a multicast address, and there is none: " +
			"making a multicast address: rank 1: no room in the switch"
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(*workload.Unavailable)) {
			t.Errorf("rank %d: %v, want %q", rank, err, want)
		}
	}
}
