package worker

import (
	"context"
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
)

// shareMemory allocates the memory, maps the peers' and makes the communicator
// on it. Where the driver finds out only now that GPUs cannot reach each other, or
// cannot have a multicast address, all ranks hear of it, and choose again.
func (r *rank) shareMemory(ctx context.Context) error {
	if err := r.phase("sharing memory with the peers"); err != nil {
		return err
	}
	waiting, cancel := r.within(ctx)
	defer cancel()
	err := r.allocate(waiting)
	var refused *symm.UnreachableError
	if errors.As(err, &refused) && r.around.apart == "" {
		r.around.apart = apart(refused.Rank, refused.Peer)
		err = r.chooseAndAllocate(waiting)
	}
	if why := r.lacksMulticast(err); why != "" && r.around.noMulticast == "" {
		r.around.noMulticast = "it needs a multicast address, and there is none: " + why
		err = r.chooseAndAllocate(waiting)
	}
	if err != nil {
		return err
	}
	if err := r.newComm(); err != nil {
		return fmt.Errorf("preparing the kernels: %w", err)
	}
	if err := r.group.Barrier(waiting, "ready"); err != nil {
		return fmt.Errorf("waiting for the peers to be ready: %w", err)
	}
	return nil
}

// chooseAndAllocate begins again with what is known of the devices now.
func (r *rank) chooseAndAllocate(ctx context.Context) error {
	if err := r.chooseAlgorithms(); err != nil {
		return err
	}
	if r.memory != nil {
		if err := r.memory.Free(ctx); err != nil {
			return fmt.Errorf("freeing memory without a multicast address: %w", err)
		}
	}
	return r.allocate(ctx)
}

// lacksMulticast says why there is no multicast address although the cases need
// one, which the devices do not tell before they have shared memory.
func (r *rank) lacksMulticast(err error) string {
	switch {
	case errors.Is(err, symm.ErrNoMulticast):
		return err.Error()
	case err == nil && r.memory.MulticastWhy != "":
		return r.memory.MulticastWhy
	}
	return ""
}

// allocate makes room for the cases: all of it symmetric, or, where GPUs cannot
// reach each other, what must be shared in memory of the host and the buffers in
// the device's own.
func (r *rank) allocate(ctx context.Context) (err error) {
	r.layout = layOut(r.sweep.cases, r.around.leastSMs())
	bytes, options := r.layout.total, symm.Options{Multicast: r.needsMulticast()}
	if r.around.apart != "" {
		bytes, options = r.layout.shared, symm.Options{Kind: symm.Host}
	}
	r.memory, err = symm.Allocate(ctx, r.device, exchange{r.group, r.files}, bytes, options)
	if err != nil {
		return fmt.Errorf("sharing %d bytes on each rank%s: %w", bytes, advice(err), err)
	}
	if r.around.apart == "" {
		return nil
	}
	own, err := r.device.Malloc(r.layout.total - r.layout.shared) // freed with the device
	if err != nil {
		return fmt.Errorf("allocating %d bytes of buffers%s: %w", r.layout.total-r.layout.shared, advice(err), err)
	}
	r.layout = r.layout.apart(int64(own - r.memory.Local))
	return nil
}

// advice is what can be done about an allocation that failed.
func advice(err error) string {
	if errors.Is(err, cudart.ErrOutOfMemory) {
		return " (smaller sizes, by --maxbytes, need less)"
	}
	return ""
}

func (r *rank) needsMulticast() bool {
	for _, c := range r.sweep.cases {
		if c.algorithm.Needs.Multicast {
			return true
		}
	}
	return false
}

func (r *rank) newComm() (err error) {
	r.comm, err = collective.New(collective.Config{
		Device:        r.device,
		Source:        r.Source,
		Rank:          r.Rank,
		Peers:         r.memory.Peers,
		Multicast:     r.memory.Multicast,
		ScratchOffset: r.layout.scratch,
		PacketOffset:  r.layout.packets,
		PacketBytes:   r.layout.packetBytes,
		SMs:           r.around.leastSMs(),
		MaxBlocks:     r.Job.MaxBlocks,
		PDL:           r.pdl,
		Timeout:       r.Job.Timeout,
	})
	return err
}
