package rank

import (
	"context"
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// ShareMemory allocates memory for the plan's cases and maps the peers' memory. It returns the
// buffers' layout. If the allocation shows that GPUs have no peer access, or no multicast address,
// or that copies do not overlap with kernels, all ranks choose algorithms again: plan and caps then
// change.
func (r *Rank) ShareMemory(ctx context.Context, plan *workload.Plan,
	caps *workload.Capabilities,
) (workload.Layout, error) {
	if err := r.Status.Announce("sharing memory with the peers"); err != nil {
		return workload.Layout{}, err
	}
	r.Status.Begin(phases.Settle)
	s := settlement{Rank: r, plan: plan, caps: caps}
	if err := s.allocate(ctx); err != nil || r.ID != 0 {
		return s.layout, err
	}
	memory := result.Memory{Backend: r.memory.Backend, Why: r.memory.Why}
	return s.layout, r.Status.Result(result.Update{Memory: &memory})
}

// settlement is the ranks' agreement on a kind of memory. It may take several attempts.
type settlement struct {
	*Rank
	plan   *workload.Plan
	caps   *workload.Capabilities
	layout workload.Layout
}

// allocate allocates the memory. If GPUs turn out to have no peer access, it tries again with algorithms for that.
func (s *settlement) allocate(ctx context.Context) error {
	for {
		err := s.allocateOnce(ctx)
		var refused *symm.NoPeerAccessError
		switch {
		case errors.As(err, &refused) && s.caps.NoPeerAccess == "":
			s.caps.NoPeerAccess = whyUnreachable(refused.Rank, refused.Peer)
		case err != nil:
			return err
		case s.learn():
			return s.chooseAgain(ctx)
		default:
			return nil
		}
		if err := s.ChooseAlgorithms(s.plan, *s.caps); err != nil {
			return err
		}
	}
}

// learn notes what the memory cannot do, and reports whether algorithms were chosen that need it.
func (s *settlement) learn() bool {
	noMulticast := s.plan.NeedsMulticast() && s.memory.Multicast == 0
	if noMulticast {
		s.caps.NoMulticast = "there is none: " + s.memory.MulticastWhy
	}
	if s.memory.Backend == string(symm.IPC) {
		s.caps.NoOverlap = "copies from CUDA IPC memory wait for kernels"
	}
	return noMulticast || s.caps.NoOverlap != "" && s.plan.ChoosesOverlap()
}

// chooseAgain chooses algorithms for what the memory can do. It keeps the memory if that is large
// enough.
func (s *settlement) chooseAgain(ctx context.Context) error {
	if err := s.ChooseAlgorithms(s.plan, *s.caps); err != nil {
		return err
	}
	s.layout = s.plan.Layout(*s.caps)
	if s.layout.Total <= s.memory.Bytes {
		return nil
	}
	waiting, cancel := s.Peers.Within(ctx)
	defer cancel()
	if err := s.memory.Free(waiting); err != nil {
		return fmt.Errorf("freeing the shared memory: %w", err)
	}
	return s.allocateOnce(ctx)
}

// allocateOnce makes room for the cases. With peer access all of the memory is symmetric.
// Without it, the shared part is in memory of the host, and the buffers are in the device's
// own. Across machines only a library shares memory.
func (s *settlement) allocateOnce(ctx context.Context) error {
	s.layout = s.plan.Layout(*s.caps)
	bytes := s.layout.Total
	options, err := s.memoryOptions(bytes)
	if err != nil {
		return err
	}
	separate := options.Kind.Traits().HostMemory // buffers are not in the shared memory
	if separate {
		bytes = s.layout.Shared
	}
	waiting, cancel := s.Peers.Within(ctx)
	defer cancel()
	s.memory, err = symm.Allocate(waiting, s.Device, s.Peers.Exchange(), bytes, options)
	if err != nil {
		return fmt.Errorf("sharing %d bytes on each rank%s: %w", bytes, advice(err), err)
	}
	if !separate {
		return nil
	}
	own, err := s.Device.Malloc(s.layout.Total - s.layout.Shared) // freed with the device
	if err != nil {
		return fmt.Errorf("allocating %d bytes of buffers%s: %w", s.layout.Total-s.layout.Shared, advice(err), err)
	}
	s.layout = s.layout.MoveBuffers(int64(own - s.memory.Local))
	return nil
}

// memoryOptions says what kind of memory of so many bytes the cases need here.
func (s *settlement) memoryOptions(bytes int64) (symm.Options, error) {
	job := s.options.Job
	requested := symm.Kind(job.Symm)
	o := symm.Options{
		Kind: requested, Multicast: s.plan.NeedsMulticast(), AcrossMachines: job.SpansMachines(), OnStep: s.begins,
	}
	for _, name := range s.plan.Libraries() {
		kind, ok := symm.RequiredBy(name)
		if ok && kind != requested && s.plan.Needs(name) {
			o.Kind, o.Why = kind, name+" works on no other"
		}
	}
	traits := o.Kind.Traits()
	switch {
	case s.caps.NoPeerAccess != "" && !job.SpansMachines() && traits.PeerAccess:
		return o, &workload.Unavailable{
			Reason: fmt.Sprintf("memory cannot be shared by %s: %s; --symm auto falls back to host memory", o.Kind,
				s.caps.NoPeerAccess),
		}
	case traits.Library != "":
		heap, err := s.Libraries.Heap(traits.Library, bytes, !job.SpansMachines())
		if err != nil {
			return o, err
		}
		o.NVSHMEM = heap
	case job.SpansMachines():
		o.Kind, o.Why = symm.Private, "the ranks are on several machines"
	case s.caps.NoPeerAccess != "" && !traits.HostMemory:
		o.Kind, o.Why = symm.Host, s.caps.NoPeerAccess
	}
	return o, nil
}

// begins notes a step of the sharing of memory.
func (s *settlement) begins(step symm.Step) {
	switch step {
	case symm.Allocating:
		s.Status.Begin(phases.Allocate)
	case symm.Exchanging:
		s.Status.Begin(phases.Exchange)
	case symm.Mapping:
		s.Status.Begin(phases.Map)
	}
}

// advice is what can be done about an allocation that failed.
func advice(err error) string {
	if errors.Is(err, cudart.ErrOutOfMemory) {
		return " (smaller sizes, by --maxbytes, or for products by -m, -n and -k, need less)"
	}
	return ""
}
