package worker

import (
	"context"
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// shareMemory allocates the memory, maps the peers' and makes the communicator
// on it. Where it turns out only now that GPUs cannot reach each other, or have no
// multicast address, all ranks hear of it, and choose again.
func (r *rank) shareMemory(ctx context.Context) error {
	if err := r.phase("sharing memory with the peers"); err != nil {
		return err
	}
	r.Phases.Begin(phases.Settle)
	if err := r.allocate(ctx); err != nil {
		return err
	}
	if err := r.reportMemory(); err != nil {
		return err
	}
	r.Phases.Begin(phases.Enter)
	joined, err := r.joinLibraries(ctx)
	if err != nil {
		return err
	}
	r.Phases.Begin(phases.Ready)
	if err := r.newComm(joined); err != nil {
		return fmt.Errorf("preparing the kernels: %w", err)
	}
	waiting, cancel := r.within(ctx)
	defer cancel()
	if err := r.group.Barrier(waiting, "ready"); err != nil {
		return fmt.Errorf("waiting for the peers to be ready: %w", err)
	}
	return nil
}

// allocate allocates the memory, if need be again for algorithms that need less of
// it.
func (r *rank) allocate(ctx context.Context) error {
	for {
		err := r.allocateOnce(ctx)
		var refused *symm.UnreachableError
		switch {
		case errors.As(err, &refused) && r.caps.NoPeerAccess == "":
			r.caps.NoPeerAccess = apart(refused.Rank, refused.Peer)
		case err != nil:
			return err
		case r.plan.NeedsMulticast() && r.memory.Multicast == 0:
			return r.doWithoutMulticast(ctx)
		default:
			return nil
		}
		if err := r.chooseAlgorithms(); err != nil {
			return err
		}
	}
}

// doWithoutMulticast chooses again for memory that has no multicast address, and
// keeps it if it is large enough for that.
func (r *rank) doWithoutMulticast(ctx context.Context) error {
	r.caps.NoMulticast = "there is none: " + r.memory.MulticastWhy
	if err := r.chooseAlgorithms(); err != nil {
		return err
	}
	r.layout = r.plan.Layout(r.caps)
	if r.layout.Total <= r.memory.Bytes {
		return nil
	}
	if err := r.freeMemory(ctx); err != nil {
		return err
	}
	return r.allocateOnce(ctx)
}

func (r *rank) freeMemory(ctx context.Context) error {
	waiting, cancel := r.within(ctx)
	defer cancel()
	if err := r.memory.Free(waiting); err != nil {
		return fmt.Errorf("freeing the shared memory: %w", err)
	}
	return nil
}

// allocateOnce makes room for the cases: all of it symmetric, or, where GPUs cannot
// reach each other, what must be shared in memory of the host and the buffers in
// the device's own. Across machines nothing is shared but what a library shares.
func (r *rank) allocateOnce(ctx context.Context) error {
	r.layout = r.plan.Layout(r.caps)
	bytes := r.layout.Total
	options, err := r.memoryOptions(bytes)
	if err != nil {
		return err
	}
	separate := options.Kind.Traits().HostMemory // the buffers, from what is shared
	if separate {
		bytes = r.layout.Shared
	}
	waiting, cancel := r.within(ctx)
	defer cancel()
	r.memory, err = symm.Allocate(waiting, r.device, exchange{r.group, r.files}, bytes, options)
	if err != nil {
		return fmt.Errorf("sharing %d bytes on each rank%s: %w", bytes, advice(err), err)
	}
	if !separate {
		return nil
	}
	own, err := r.device.Malloc(r.layout.Total - r.layout.Shared) // freed with the device
	if err != nil {
		return fmt.Errorf("allocating %d bytes of buffers%s: %w", r.layout.Total-r.layout.Shared, advice(err), err)
	}
	r.layout = r.layout.MoveBuffers(int64(own - r.memory.Local))
	return nil
}

// memoryOptions says what kind of memory of so many bytes the cases need here.
func (r *rank) memoryOptions(bytes int64) (symm.Options, error) {
	asked := symm.Kind(r.Job.Symm)
	o := symm.Options{
		Kind: asked, Multicast: r.plan.NeedsMulticast(), AcrossMachines: r.Job.SpansMachines(), Begins: r.begins,
	}
	for name := range r.libraries {
		if heap, ok := symm.HeapOf(name); ok && heap != asked && r.plan.Needs(name) {
			o.Kind, o.Why = heap, "its collectives work on no other"
		}
	}
	traits := o.Kind.Traits()
	switch {
	case r.caps.NoPeerAccess != "" && !r.Job.SpansMachines() && traits.PeerAccess:
		return o, &workload.Unavailable{Reason: fmt.Sprintf("memory cannot be shared by %s: %s; --symm auto falls back to host memory", o.Kind, r.caps.NoPeerAccess)}
	case traits.Library != "":
		own, err := r.heap(traits.Library, bytes)
		if err != nil {
			return o, err
		}
		o.NVSHMEM = own
	case r.Job.SpansMachines():
		o.Kind, o.Why = symm.Private, "the ranks are on several machines"
	case r.caps.NoPeerAccess != "" && !traits.HostMemory:
		o.Kind, o.Why = symm.Host, r.caps.NoPeerAccess
	}
	return o, nil
}

// begins notes a step of the sharing of memory.
func (r *rank) begins(step symm.Step) {
	switch step {
	case symm.Allocating:
		r.Phases.Begin(phases.Allocate)
	case symm.Exchanging:
		r.Phases.Begin(phases.Exchange)
	case symm.Mapping:
		r.Phases.Begin(phases.Map)
	}
}

// reportMemory tells the launcher what memory it came to.
func (r *rank) reportMemory() error {
	if r.Rank != 0 {
		return nil
	}
	return r.Reports.Result(result.Update{Memory: &result.Memory{Backend: r.memory.Backend, Why: r.memory.Why}})
}

// advice is what can be done about an allocation that failed.
func advice(err error) string {
	if errors.Is(err, cudart.ErrOutOfMemory) {
		return " (smaller sizes, by --maxbytes, or for products by -m, -n and -k, need less)"
	}
	return ""
}

func (r *rank) newComm(joined map[string]collective.Library) (err error) {
	r.comm, err = collective.New(collective.Config{
		Device:        r.device,
		Source:        r.Source,
		Rank:          r.Rank,
		Peers:         r.memory.Peers,
		Multicast:     r.memory.Multicast,
		ScratchOffset: r.layout.Scratch,
		PacketOffset:  r.layout.Packets,
		PacketBytes:   r.layout.PacketBytes,
		MailOffset:    r.layout.Mailboxes,
		MailBytes:     r.layout.MailboxBytes,
		SMs:           r.caps.LeastSMs(),
		MaxBlocks:     r.Job.MaxBlocks,
		PDL:           r.pdl,
		BriefBytes:    r.Job.BriefBytes(),
		Timeout:       r.Job.Timeout,
		Libraries:     joined,
	})
	return err
}
