package symm

import (
	"context"
	"fmt"

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
