package symm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gpurun/cudart"
)

// vmmDevice has memory, and multicast objects, that are handles before they are
// addresses. What is made for fabric handles is passed on by those, and else by
// file descriptors. A size is a multiple of the granularity.
type vmmDevice interface {
	// CanExport says why memory of this device cannot be passed on, or nil.
	CanExport(fabric bool) error
	MemoryGranularity(fabric bool) (int64, error)
	CreateMemory(bytes int64, fabric bool) (uint64, error)
	// The files belong to the caller.
	ExportFile(handle uint64) (*os.File, error)
	ImportFile(f *os.File) (uint64, error)
	ExportFabric(handle uint64) ([handleBytes]byte, error)
	ImportFabric(fabric [handleBytes]byte) (uint64, error)
	MapMemory(handle uint64, bytes int64) (cudart.DevicePtr, error)
	UnmapMemory(ptr cudart.DevicePtr) error
	// ReleaseMemory gives a handle back; what is mapped stays.
	ReleaseMemory(handle uint64) error

	groupDevice
}

// vmm shares memory by virtual memory management: every rank creates its own and
// maps everybody's into its address space.
type vmm struct {
	vmmDevice
	fabric    bool
	world     int
	multicast bool  // whether the size must suit a multicast object
	bytes     int64 // asked for

	granularity int64
	size        int64 // of each rank's memory
	own         uint64
	group       multicastGroup
}

// vmmCandidates tries file descriptors first: they need nothing but the machine.
func vmmCandidates(dev cudart.Device, m *Memory) []backend {
	d, ok := dev.(vmmDevice)
	if !ok {
		return nil
	}
	files := &vmm{vmmDevice: d, world: m.ex.WorldSize(), multicast: m.options.Multicast, bytes: m.Bytes}
	fabric := *files
	fabric.fabric = true
	return []backend{files, &fabric}
}

func (*vmm) kind() Kind { return VMM }

func (b *vmm) how() string {
	if b.fabric {
		return "peers map each other's memory by VMM fabric handles"
	}
	return "peers map each other's memory by VMM"
}

// probe implements prober: it has the device export, and asks for its granularity.
func (b *vmm) probe() (facts, error) {
	what := "file descriptors"
	if b.fabric {
		what = "fabric handles"
	}
	if err := b.CanExport(b.fabric); err != nil {
		return facts{}, fmt.Errorf("exports no %s of its GPU's memory (%w)", what, err)
	}
	granularity, err := b.MemoryGranularity(b.fabric)
	if err != nil {
		return facts{}, fmt.Errorf("knows no granularity of its GPU's memory (%w)", err)
	}
	if b.multicast {
		granularity = max(granularity, b.groupGranularity())
	}
	return facts{Granularity: granularity}, nil
}

// learn implements prober: the size has to suit all devices.
func (b *vmm) learn(all []facts) error {
	b.granularity = 1
	for _, f := range all {
		b.granularity = max(b.granularity, f.Granularity)
	}
	return nil
}

func (b *vmm) malloc(bytes int64) (cudart.DevicePtr, error) {
	b.size = (bytes + b.granularity - 1) / b.granularity * b.granularity
	own, err := b.CreateMemory(b.size, b.fabric)
	if err != nil {
		return 0, err
	}
	ptr, err := b.MapMemory(own, b.size)
	if err != nil {
		return 0, errors.Join(err, b.ReleaseMemory(own))
	}
	b.own = own
	return ptr, nil
}

func (b *vmm) export(cudart.DevicePtr) (handle, error) { return b.exportHandle(b.own) }

func (b *vmm) exportHandle(h uint64) (handle, error) {
	if b.fabric {
		bytes, err := b.ExportFabric(h)
		return handle{bytes: bytes[:]}, err
	}
	f, err := b.ExportFile(h)
	return handle{file: f}, err
}

func (b *vmm) exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error) {
	if b.fabric {
		return exchangeBytes(ctx, ex, mine.bytes)
	}
	return exchangeFiles(ctx, ex, mine.file)
}

func (b *vmm) importHandle(h handle) (uint64, error) {
	if b.fabric {
		bytes, err := h.receivedBytes("fabric")
		if err != nil {
			return 0, err
		}
		return b.ImportFabric(bytes)
	}
	f, err := h.received()
	if err != nil {
		return 0, err
	}
	return b.ImportFile(f)
}

// open maps a peer's memory. The mapping keeps it; the handle is not needed.
func (b *vmm) open(_ int, h handle) (cudart.DevicePtr, error) {
	imported, err := b.importHandle(h)
	if err != nil {
		return 0, markNoPeerAccess(err, cudart.ErrInvalidDevice)
	}
	ptr, err := b.MapMemory(imported, b.size)
	// A driver says of a GPU that is out of reach that it is no device.
	err = markNoPeerAccess(err, cudart.ErrInvalidDevice, cudart.ErrNotSupported)
	return ptr, errors.Join(err, b.ReleaseMemory(imported))
}

func (b *vmm) unmap(ptr cudart.DevicePtr) error { return b.UnmapMemory(ptr) }

func (b *vmm) free(ptr cudart.DevicePtr) error {
	own := b.own
	b.own = 0
	return errors.Join(b.UnmapMemory(ptr), b.ReleaseMemory(own))
}
