package nvshmem

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// teamWorld is NVSHMEM_TEAM_WORLD, all PEs.
const teamWorld = 0

// Malloc allocates bytes of the symmetric heap on every rank. All ranks call it
// with the same size, and it waits for all of them. The caller frees it.
func (l *Library) Malloc(bytes int64) (cudart.DevicePtr, error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("nvshmem_malloc: %d bytes", bytes)
	}
	ptr := l.fns.malloc.Pointer(uintptr(bytes))
	if ptr == 0 {
		return 0, fmt.Errorf("nvshmem_malloc: no room for %d bytes in the symmetric heap; "+
			"raise NVSHMEM_SYMMETRIC_SIZE, or try smaller sizes", bytes)
	}
	return cudart.DevicePtr(ptr), nil
}

// Free frees what Malloc allocated. All ranks call it in the same order, and it
// waits for all of them.
func (l *Library) Free(ptr cudart.DevicePtr) error {
	if ptr == 0 {
		return errors.New("nvshmem_free: the null pointer")
	}
	l.fns.free.Call(uintptr(ptr))
	return nil
}

// Ptr is the address at which this rank's device reads and writes a peer's
// part of symmetric memory; 0 where it cannot, as when the peer is on another
// machine. ptr is the rank's own address.
func (l *Library) Ptr(ptr cudart.DevicePtr, pe int) cudart.DevicePtr {
	return cudart.DevicePtr(l.fns.ptr.Pointer(uintptr(ptr), uintptr(pe)))
}

// MulticastPtr is the multicast address of symmetric memory in which all ranks
// take part, for multimem instructions; 0 where NVSHMEM made none, as without
// NVLink SHARP or with NVSHMEM_DISABLE_NVLS set.
func (l *Library) MulticastPtr(ptr cudart.DevicePtr) cudart.DevicePtr {
	if !l.fns.multicastPtr.Found() {
		return 0
	}
	return cudart.DevicePtr(l.fns.multicastPtr.Pointer(teamWorld, uintptr(ptr)))
}
