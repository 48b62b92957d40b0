package symm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gpurun/cudart"
)

// handleBytes is the size of a CUipcMemHandle.
const handleBytes = 64

// ipcDevice shares memory by handles of plain bytes (cuIpcGetMemHandle). A
// process cannot import its own handle.
type ipcDevice interface {
	ExportIPC(ptr cudart.DevicePtr) ([handleBytes]byte, error)
	ImportIPC(handle [handleBytes]byte) (cudart.DevicePtr, error)
	CloseIPC(ptr cudart.DevicePtr) error
}

// fdDevice shares memory by file descriptors. Imported memory is released
// with [cudart.Device.Free]; the files belong to the caller.
type fdDevice interface {
	ExportFD(ptr cudart.DevicePtr) (*os.File, error)
	ImportFD(f *os.File) (cudart.DevicePtr, error)
}

// backend is one way of letting peers map this rank's memory.
type backend interface {
	name() string
	export(ptr cudart.DevicePtr) (handle, error)
	// exchange is collective. It returns the handles of all ranks, indexed
	// by rank; the own one is of no use. The caller closes them.
	exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error)
	open(h handle) (cudart.DevicePtr, error)
	unmap(ptr cudart.DevicePtr) error
	free(ptr cudart.DevicePtr) error
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

// choose picks the backend by what the device can do. Every rank must come to
// the same choice, which the first report checks.
func choose(dev cudart.Device) (backend, error) {
	switch d := dev.(type) {
	case ipcDevice:
		return ipc{d, dev}, nil
	case fdDevice:
		return fd{d, dev}, nil
	}
	return nil, fmt.Errorf("device %q (%s) has no way to share memory between processes",
		dev.Info().Name, dev.Info().Backend)
}

// ipc shares memory by CUDA IPC handles.
type ipc struct {
	ipcDevice
	dev cudart.Device
}

func (ipc) name() string { return "ipc" }

func (b ipc) export(ptr cudart.DevicePtr) (handle, error) {
	h, err := b.ExportIPC(ptr)
	return handle{bytes: h[:]}, err
}

func (b ipc) exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error) {
	all, err := ex.AllGather(ctx, roundHandle, mine.bytes)
	if err == nil {
		err = wantOnePerRank(len(all), ex.WorldSize())
	}
	if err != nil {
		return nil, err
	}
	handles := make([]handle, len(all))
	for rank, bytes := range all {
		handles[rank].bytes = bytes
	}
	return handles, nil
}

func (b ipc) open(h handle) (cudart.DevicePtr, error) {
	if len(h.bytes) != handleBytes {
		return 0, fmt.Errorf("its IPC handle has %d bytes instead of %d", len(h.bytes), handleBytes)
	}
	return b.ImportIPC([handleBytes]byte(h.bytes))
}

func (b ipc) unmap(ptr cudart.DevicePtr) error { return b.CloseIPC(ptr) }
func (b ipc) free(ptr cudart.DevicePtr) error  { return b.dev.Free(ptr) }

// fd shares memory by file descriptors.
type fd struct {
	fdDevice
	dev cudart.Device
}

func (fd) name() string { return "fd" }

func (b fd) export(ptr cudart.DevicePtr) (handle, error) {
	f, err := b.ExportFD(ptr)
	return handle{file: f}, err
}

func (b fd) exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error) {
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

func (b fd) open(h handle) (cudart.DevicePtr, error) {
	if h.file == nil {
		return 0, errors.New("it sent no file descriptor")
	}
	return b.ImportFD(h.file)
}

func (b fd) unmap(ptr cudart.DevicePtr) error { return b.dev.Free(ptr) }
func (b fd) free(ptr cudart.DevicePtr) error  { return b.dev.Free(ptr) }

func wantOnePerRank(got, world int) error {
	if got != world {
		return fmt.Errorf("received %d answers from %d ranks", got, world)
	}
	return nil
}
