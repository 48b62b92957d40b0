package symm

import (
	"context"
	"fmt"
	"os"

	"gpurun/cudart"
)

// simDevice shares memory by file descriptors. Imported memory is released
// with [cudart.Device.Free]; the files belong to the caller.
type simDevice interface {
	ExportFD(ptr cudart.DevicePtr) (*os.File, error)
	ImportFD(f *os.File) (cudart.DevicePtr, error)
}

// multicastDevice makes a multicast address of memory that it has mapped, to
// be freed with [cudart.Device.Free] before the members.
type multicastDevice interface {
	Multicast(members []cudart.DevicePtr) (cudart.DevicePtr, error)
}

// sim shares the memory of simulated devices, which are memfds, by their file
// descriptors.
type sim struct {
	simDevice
	dev cudart.Device
}

// simCandidates is the backend of a simulated device.
func simCandidates(dev cudart.Device, _ *Memory) []backend {
	d, ok := dev.(simDevice)
	if !ok {
		return nil
	}
	return []backend{sim{d, dev}}
}

func (sim) kind() Kind  { return Simulated }
func (sim) how() string { return "simulated memory is a file that peers map" }

func (b sim) malloc(bytes int64) (cudart.DevicePtr, error) { return b.dev.Malloc(bytes) }

func (b sim) export(ptr cudart.DevicePtr) (handle, error) {
	f, err := b.ExportFD(ptr)
	return handle{file: f}, err
}

func (b sim) exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error) {
	return exchangeFiles(ctx, ex, mine.file)
}

func (b sim) open(_ int, h handle) (cudart.DevicePtr, error) {
	f, err := h.received()
	if err != nil {
		return 0, err
	}
	return b.ImportFD(f)
}

// multicastSteps implements multicaster. A simulated address is this rank's alone.
func (b sim) multicastSteps(_ context.Context, m *Memory) []step {
	return []step{{"address", func() (err error) {
		d, ok := b.dev.(multicastDevice)
		if !ok {
			return fmt.Errorf("device %q has none", b.dev.Info().Name)
		}
		m.Multicast, err = d.Multicast(m.Peers)
		return err
	}}}
}

func (b sim) unmapMulticast(ptr cudart.DevicePtr) error { return b.dev.Free(ptr) }
func (sim) leaveMulticast() error                       { return nil }

func (b sim) unmap(ptr cudart.DevicePtr) error { return b.dev.Free(ptr) }
func (b sim) free(ptr cudart.DevicePtr) error  { return b.dev.Free(ptr) }
