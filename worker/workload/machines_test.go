package workload

import (
	"slices"
	"strings"
	"testing"
)

// spanning is a job on two machines.
func spanning(collective string, algorithms ...string) Job {
	return Job{
		Collective: collective, Algorithms: algorithms, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes:      []int64{1 << 10},
		Iterations: 1, Verify: true, Nodes: 2,
	}
}

func TestWhatCannotSpanMachinesIsRefused(t *testing.T) {
	for want, job := range map[string]Job{
		"": spanning("allreduce", "nccl", "nvshmem", Auto),
		"allreduce oneshot runs within one machine; across machines use --algo nccl or nvshmem": spanning("allreduce", "nccl",
			"oneshot"),
		"memory is shared by vmm within one machine, and the ranks are on 2: leave --symm at auto": {
			Collective: "allreduce", Algorithms: []string{"nccl"}, Symm: "vmm", Nodes: 2,
		},
		"allreduce naive runs within one machine; across machines use --algo nccl or nvshmem": spanning("allreduce", "naive"),
		"allreduce nccl has no epilogue negate for sum of float; it has none at all": {
			Collective: "allreduce", Algorithms: []string{Auto}, DTypes: []string{"float"}, Ops: []string{"sum"},
			Sizes:    []int64{64},
			Epilogue: "negate", Nodes: 2,
		},
		"allreduce nccl_symmetric runs within one machine; across machines use --algo nccl or nvshmem": spanning("allreduce",
			"nccl_symmetric"),
		"reduce p2p runs within one machine; across machines use --algo nccl": spanning("reduce", "p2p"),
		"barrier is proved by what ranks read of each other's memory, and so runs within one machine": {
			Collective: "barrier", Algorithms: []string{Auto}, Nodes: 2,
		},
	} {
		got := ""
		if err := job.Check(16); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Across machines, "auto" is the first algorithm by a library, and what is named
// and optional is left out by the same rule.
func TestAutoAcrossMachines(t *testing.T) {
	caps := simulated(2)
	caps.SpansMachines = true
	p, err := spanning("allreduce", Auto).Plan(2)
	if err != nil {
		t.Fatal(err)
	}
	if names := p.Libraries(); !slices.Equal(names, []string{"nccl", "nvshmem"}) {
		t.Errorf("libraries %v", names)
	}
	caps.Libraries = map[string]Library{"nccl": able{}, "nvshmem": able{heap: true}}
	c := chooser{collective: p.Collective, caps: caps}
	got, err := c.choose(p.requests[0])
	if err != nil || got.algorithm.Name != "nccl" || !strings.Contains(got.why, "several machines") {
		t.Errorf("%+v, %v", got, err)
	}
	c.caps.Missing = map[string]string{"nccl": "no libnccl.so.2", "nvshmem": "no libnvshmem_host.so.3"}
	_, err = c.choose(p.requests[0])
	if !isUnavailable(err) || !strings.Contains(err.Error(),
		"nccl cannot run: no libnccl.so.2; allreduce nvshmem cannot run: no libnvshmem_host.so.3") {
		t.Errorf("without libraries: %v", err)
	}
	if err := c.refuse("twoshot", p.requests[0].call); !isUnavailable(err) {
		t.Errorf("twoshot: %v", err)
	}
}
