package rank

import (
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
	"gpurun/worker/library"
	"gpurun/worker/workload"
)

// able is a library that does everything.
type able struct{}

func (able) HasHeap() bool { return false }

func (able) Supports(string, collective.DType, collective.Op) error { return nil }

// An algorithm that registers memory with its library decides what kind it is, if a case has it.
func TestMemoryIsWhatCanBeRegistered(t *testing.T) {
	job := workload.Job{
		Collective: "allreduce", Algorithms: []string{"nccl_symmetric"}, DTypes: []string{"float"}, Ops: []string{"sum"},
		Sizes:      []int64{1 << 10},
		Iterations: 1,
	}
	plan, err := job.Plan(2)
	if err != nil {
		t.Fatal(err)
	}
	caps := workload.Capabilities{
		Devices:   []cudart.Info{{Backend: "cuda", Major: 9, SMs: 132}, {Backend: "cuda", Major: 9, SMs: 132}},
		Libraries: map[string]workload.Library{"nccl_symmetric": able{}},
	}
	r := &Rank{options: Options{Job: job}, Libraries: library.New(library.Options{})}
	s := &settlement{Rank: r, plan: &plan, caps: &caps}
	if o, err := s.memoryOptions(1); err != nil || o.Kind != "" {
		t.Errorf("before it is chosen: %+v, %v", o, err)
	}
	if _, err := plan.Choose(caps); err != nil {
		t.Fatal(err)
	}
	o, err := s.memoryOptions(1)
	if err != nil || o.Kind != symm.VMM || o.Why != "nccl_symmetric works on no other" {
		t.Errorf("%+v, %v", o, err)
	}
}

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

// On CUDA IPC memory auto does without algorithms whose copies are to overlap with kernels.
func TestAutoKnowsThatCopiesFromIPCMemoryWait(t *testing.T) {
	job := workload.Job{
		Collective: "allgather", Algorithms: []string{"auto"}, DTypes: []string{"float"},
		Sizes:      []int64{1 << 20},
		Iterations: 1,
		Tuning: tuning.Tables{{
			GPU: "NVIDIA H200", Compute: "9.0",
			Rules: []tuning.Rule{{Collective: "allgather", World: 2, Algorithm: "copy_engine"}},
		}},
	}
	gpu := cudart.Info{Backend: "cuda", Name: "NVIDIA H200", Major: 9, SMs: 132}
	for backend, want := range map[symm.Kind]string{symm.VMM: "copy_engine", symm.IPC: "push"} {
		plan, err := job.Plan(2)
		if err != nil {
			t.Fatal(err)
		}
		caps := workload.Capabilities{Devices: []cudart.Info{gpu, gpu}}
		s := &settlement{Rank: &Rank{memory: &symm.Memory{Backend: string(backend)}}, plan: &plan, caps: &caps}
		if _, err := plan.Choose(caps); err != nil {
			t.Fatal(err)
		}
		if s.learn() {
			if _, err := plan.Choose(caps); err != nil {
				t.Fatal(err)
			}
		}
		if s.learn() {
			t.Errorf("%s: auto insists on %s", backend, plan.Cases[0].Algorithm.Name)
		}
		if got := plan.Cases[0].Algorithm.Name; got != want {
			t.Errorf("%s: %s, want %s; %s", backend, got, want, plan.Cases[0].Why)
		}
	}
}
