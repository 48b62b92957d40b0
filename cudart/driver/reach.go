package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// CanReach reports whether this GPU can be given access to a peer's memory. A
// GPU reaches itself. A peer that CUDA_VISIBLE_DEVICES hides from this process,
// or that has no UUID, is not known to be out of reach and counts as reachable:
// mapping its memory will tell.
func (d *device) CanReach(peer cudart.Info) (bool, error) {
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

// canAccess asks the driver about another device.
func (d *device) canAccess(peer int32) (bool, error) {
	var can int32
	err := d.api.call(d.api.deviceCanAccessPeer, uintptr(unsafe.Pointer(&can)), uintptr(d.handle), uintptr(peer))
	if err != nil {
		return false, fmt.Errorf("asking whether GPU %d can reach another: %w", d.info.Ordinal, err)
	}
	return can != 0, nil
}
