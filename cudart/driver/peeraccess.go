package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// CanAccessPeer reports whether this GPU can be given access to a peer's memory. A GPU can
// access its own. For a peer that CUDA_VISIBLE_DEVICES hides from this process, or that has no UUID, the
// driver cannot be asked: it counts as accessible, and mapping its memory fails if it is not.
func (d *device) CanAccessPeer(peer cudart.Info) (bool, error) {
	if peer.UUID == d.info.UUID {
		return true, nil
	}
	count, err := d.api.initAndCount()
	if err != nil {
		return false, fmt.Errorf("looking for GPU %s: %w", peer.UUID, err)
	}
	for ordinal := range count {
		handle, uuid, err := d.api.identify(ordinal)
		if err != nil {
			return false, fmt.Errorf("looking for GPU %s: %w", peer.UUID, err)
		}
		if uuid == peer.UUID {
			return d.canAccess(handle)
		}
	}
	return true, nil
}

func (d *device) canAccess(peer int32) (bool, error) {
	var can int32
	err := d.api.call(d.api.deviceCanAccessPeer, uintptr(unsafe.Pointer(&can)), uintptr(d.handle), uintptr(peer))
	if err != nil {
		return false, fmt.Errorf("asking whether GPU %d can reach another: %w", d.info.Ordinal, err)
	}
	return can != 0, nil
}
