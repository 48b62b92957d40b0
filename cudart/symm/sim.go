package symm

import (
	"context"
	"errors"
	"os"

	"gpurun/cudart"
)

// simDevice shares memory by file descriptors. Imported memory is released
// with [cudart.Device.Free]; the files belong to the caller.
type simDevice interface {
	ExportFD(ptr cudart.DevicePtr) (*os.File, error)
	ImportFD(f *os.File) (cudart.DevicePtr, error)
}

// sim shares the memory of simulated devices, which are memfds, by their file
// descriptors.
type sim struct {
	simDevice
	dev cudart.Device
}

func (sim) name() string { return "sim" }

func (b sim) export(ptr cudart.DevicePtr) (handle, error) {
	f, err := b.ExportFD(ptr)
	return handle{file: f}, err
}

func (b sim) exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error) {
	files, err := ex.AllGatherFiles(ctx, roundHandle, mine.file)
	handles := make([]handle, len(files))
	for rank, f := range files {
		handles[rank].file = f
	}
	if err == nil {
		err = wantOnePerRank(len(files), ex.WorldSize())
	}
	if err != nil {
		return nil, errors.Join(err, closeAll(handles))
	}
	return handles, nil
}

func closeAll(handles []handle) error {
	var failures []error
	for _, h := range handles {
		failures = append(failures, h.close())
	}
	return errors.Join(failures...)
}

func (b sim) open(h handle) (cudart.DevicePtr, error) {
	if h.file == nil {
		return 0, errors.New("it sent no file descriptor")
	}
	return b.ImportFD(h.file)
}

func (b sim) unmap(ptr cudart.DevicePtr) error { return b.dev.Free(ptr) }
func (b sim) free(ptr cudart.DevicePtr) error  { return b.dev.Free(ptr) }
