package symm

import (
	"context"
	"errors"
	"fmt"

	"gpurun/cudart"
)

// NVSHMEM is what symm needs from libnvshmem_host. Init, Malloc, Free and Finalize
// are collective and may block in C when a rank does not come: the caller of
// Allocate and Free bounds them. They run on the device's thread,
// where the primary context is current.
type NVSHMEM interface {
	// NewUniqueID makes the id by which the ranks find each other. Rank 0 calls it,
	// and lives until all of them have.
	NewUniqueID() ([128]byte, error)
	Init(rank, world int, id [128]byte, device int) error
	Malloc(bytes int64) (cudart.DevicePtr, error)
	// Ptr is the address of a peer's memory here, or 0 where it is not mapped.
	Ptr(ptr cudart.DevicePtr, pe int) cudart.DevicePtr
	// MulticastPtr is the address of all ranks' memory, or 0 where there is none.
	MulticastPtr(ptr cudart.DevicePtr) cudart.DevicePtr
	Free(ptr cudart.DevicePtr) error
	Finalize() error
}

// nvshmem has NVSHMEM allocate and map. Its library is initialized for each
// allocation, and finalized when that is freed.
type nvshmem struct {
	lib         NVSHMEM
	rank, world int
	device      int
	partly      bool // some ranks are on other machines, where nothing is mapped
	id          [128]byte
	own         cudart.DevicePtr
	everywhere  bool // all ranks have allocated
}

// nvshmemCandidates leaves it to probe to find the library missing, so that all ranks hear
// of it. NVSHMEM has no simulator.
func nvshmemCandidates(dev cudart.Device, m *Memory) []backend {
	if _, simulated := dev.(simDevice); simulated {
		return nil
	}
	return []backend{
		&nvshmem{
			lib: m.options.NVSHMEM, rank: m.ex.Rank(), world: m.ex.WorldSize(), device: dev.Info().Ordinal,
			partly: m.options.AcrossMachines,
		},
	}
}

func (*nvshmem) kind() Kind  { return NVSHMEMHeap }
func (*nvshmem) how() string { return "NVSHMEM maps the peers' memory" }

// probe implements prober: all that can be found missing without the peers.
func (b *nvshmem) probe() (facts, error) {
	if b.lib == nil {
		return facts{}, errors.New("has no NVSHMEM library")
	}
	if b.rank != 0 {
		return facts{}, nil
	}
	id, err := b.lib.NewUniqueID()
	if err != nil {
		return facts{}, fmt.Errorf("makes no NVSHMEM unique id (%w)", err)
	}
	return facts{UniqueID: id[:]}, nil
}

// learn implements prober.
func (b *nvshmem) learn(all []facts) error {
	if n := len(all[0].UniqueID); n != len(b.id) {
		return fmt.Errorf("the NVSHMEM unique id of rank 0 has %d bytes instead of %d", n, len(b.id))
	}
	b.id = [128]byte(all[0].UniqueID)
	return nil
}

// initLibrary implements session.
func (b *nvshmem) initLibrary() error {
	if err := b.lib.Init(b.rank, b.world, b.id, b.device); err != nil {
		return fmt.Errorf("initializing NVSHMEM: %w", err)
	}
	return nil
}

// finalizeLibrary implements session.
func (b *nvshmem) finalizeLibrary() error {
	if err := b.lib.Finalize(); err != nil {
		return fmt.Errorf("finalizing NVSHMEM: %w", err)
	}
	return nil
}

func (b *nvshmem) malloc(bytes int64) (ptr cudart.DevicePtr, err error) {
	b.own, err = b.lib.Malloc(bytes)
	return b.own, err
}

func (b *nvshmem) export(cudart.DevicePtr) (handle, error) { return handle{}, nil }

// exchange has nothing to exchange. Ranks come here when all have allocated.
func (b *nvshmem) exchange(_ context.Context, ex Exchange, _ handle) ([]handle, error) {
	b.everywhere = true
	return make([]handle, ex.WorldSize()), nil
}

func (b *nvshmem) open(peer int, _ handle) (cudart.DevicePtr, error) {
	ptr := b.lib.Ptr(b.own, peer)
	if ptr == 0 && !b.partly {
		return 0, noPeerAccess{errors.New("NVSHMEM has not mapped its memory")}
	}
	return ptr, nil
}

// unmap has nothing to do: the heap stays mapped until NVSHMEM is finalized.
func (b *nvshmem) unmap(cudart.DevicePtr) error { return nil }

// free is collective where all ranks have memory. Where some have none, it would
// wait for them, and Finalize frees the heap anyway.
func (b *nvshmem) free(ptr cudart.DevicePtr) error {
	if !b.everywhere {
		return nil
	}
	return b.lib.Free(ptr)
}

// multicastSteps implements multicaster.
func (b *nvshmem) multicastSteps(_ context.Context, m *Memory) []step {
	return []step{{"address", func() error {
		if m.Multicast = b.lib.MulticastPtr(b.own); m.Multicast == 0 {
			return errors.New("NVSHMEM has none; it makes them where the GPUs have NVLink SHARP and " +
				"NVSHMEM_DISABLE_NVLS is not set")
		}
		return nil
	}}}
}

// NVSHMEM's multicast addresses go with its memory.
func (*nvshmem) unmapMulticast(cudart.DevicePtr) error { return nil }
func (*nvshmem) leaveMulticast() error                 { return nil }
