package symm

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

func (b ipc) malloc(bytes int64) (cudart.DevicePtr, error) { return b.dev.Malloc(bytes) }

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
	ptr, err := b.ImportIPC([handleBytes]byte(h.bytes))
	if meansNoPeerAccess(err) {
		err = noPeerAccess{err}
	}
	return ptr, err
}

// CUresult codes by which a driver refuses to map a peer's memory.
const (
	errMapFailed             cudart.Result = 205
	errPeerAccessUnsupported cudart.Result = 217
	errTooManyPeers          cudart.Result = 711
)

func meansNoPeerAccess(err error) bool {
	refusals := []cudart.Result{errMapFailed, errPeerAccessUnsupported, errTooManyPeers, cudart.ErrNotSupported}
	return slices.ContainsFunc(refusals, func(code cudart.Result) bool { return errors.Is(err, code) })
}

func (b ipc) unmap(ptr cudart.DevicePtr) error { return b.CloseIPC(ptr) }
func (b ipc) free(ptr cudart.DevicePtr) error  { return b.dev.Free(ptr) }
