package symm

import (
	"context"
	"fmt"
	"os"

	"gpurun/cudart"
)

// backend is one way of letting peers map this rank's memory.
type backend interface {
	name() string
	// malloc allocates the own memory, and export makes a handle of it.
	malloc(bytes int64) (cudart.DevicePtr, error)
	export(ptr cudart.DevicePtr) (handle, error)
	// exchange is collective. It returns the handles of all ranks, indexed
	// by rank; the own one is of no use. The caller closes them.
	exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error)
	open(h handle) (cudart.DevicePtr, error)
	unmap(ptr cudart.DevicePtr) error
	free(ptr cudart.DevicePtr) error
}

// multicaster is a backend that can make a multicast address of all ranks'
// memory. It is given back by free, before the memory.
type multicaster interface {
	multicast(members []cudart.DevicePtr) (cudart.DevicePtr, error)
}

// handle names memory to another process: by bytes or by an open file.
type handle struct {
	bytes []byte
	file  *os.File
}

func (h handle) close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

// choose picks the backend by the options and by what the device can do. Every
// rank must come to the same choice, which the first report checks.
func choose(dev cudart.Device, o Options, world int) (backend, error) {
	b, err := chooseKind(dev, o, world)
	if err == nil && o.Multicast {
		err = admitMulticast(b)
	}
	return b, err
}

func chooseKind(dev cudart.Device, o Options, world int) (backend, error) {
	if o.Host {
		d, ok := dev.(hostDevice)
		if !ok {
			return nil, fmt.Errorf("device %q (%s) cannot map host memory of other processes", dev.Info().Name, dev.Info().Backend)
		}
		return &host{hostDevice: d, world: world}, nil
	}
	switch d := dev.(type) {
	case ipcDevice:
		return ipc{d, dev}, nil
	case simDevice:
		return sim{d, dev}, nil
	}
	return nil, fmt.Errorf("device %q (%s) has no way to share memory between processes",
		dev.Info().Name, dev.Info().Backend)
}

func wantOnePerRank(got, world int) error {
	if got != world {
		return fmt.Errorf("received %d answers from %d ranks", got, world)
	}
	return nil
}
