package symm

import (
	"context"
	"errors"
	"slices"

	"gpurun/cudart"
)

// handleBytes is the size of a CUipcMemHandle, and of a CUmemFabricHandle.
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

// ipcCandidates is the backend of a device that has CUDA IPC.
func ipcCandidates(dev cudart.Device, _ *Memory) []backend {
	d, ok := dev.(ipcDevice)
	if !ok {
		return nil
	}
	return []backend{ipc{d, dev}}
}

func (ipc) kind() Kind  { return IPC }
func (ipc) how() string { return "peers map each other's memory by CUDA IPC" }

func (b ipc) malloc(bytes int64) (cudart.DevicePtr, error) { return b.dev.Malloc(bytes) }

func (b ipc) export(ptr cudart.DevicePtr) (handle, error) {
	h, err := b.ExportIPC(ptr)
	return handle{bytes: h[:]}, err
}

func (b ipc) exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error) {
	return exchangeBytes(ctx, ex, mine.bytes)
}

func (b ipc) open(_ int, h handle) (cudart.DevicePtr, error) {
	bytes, err := h.receivedBytes("IPC")
	if err != nil {
		return 0, err
	}
	ptr, err := b.ImportIPC(bytes)
	// Where there is no IPC at all, memory of the host is what is left, too.
	return ptr, markNoPeerAccess(err, cudart.ErrNotSupported)
}

// CUresult codes by which a driver refuses to map a peer's memory.
const (
	errMapFailed             cudart.Result = 205
	errPeerAccessUnsupported cudart.Result = 217
	errTooManyPeers          cudart.Result = 711
)

// markNoPeerAccess marks an error whose code means the want of peer access, by any
// call or, for more codes, by the call at hand. That a file cannot be imported says
// nothing of the kind.
func markNoPeerAccess(err error, more ...cudart.Result) error {
	refusals := append(more, errMapFailed, errPeerAccessUnsupported, errTooManyPeers)
	if slices.ContainsFunc(refusals, func(code cudart.Result) bool { return errors.Is(err, code) }) {
		return noPeerAccess{err}
	}
	return err
}

func (b ipc) unmap(ptr cudart.DevicePtr) error { return b.CloseIPC(ptr) }
func (b ipc) free(ptr cudart.DevicePtr) error  { return b.dev.Free(ptr) }
