package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// CanAccessPeer reports whether this GPU can be given access to a peer's memory. A GPU can
// access its own. For a peer that CUDA_VISIBLE_DEVICES hides from this process, or that has no UUID, the
// driver cannot be asked: it counts as accessible, and mapping its memory fails if it is not.
func (d *device) CanAccessPeer(peer cudart.Info) (bool, error) { return d.askAbout(peer, d.canAccess) }

// HasPeerAtomics reports whether the link to a peer has atomics, as NVLink has: over other links an
// addition to the peer's memory is a load and a store. For a peer that the driver does not know it
// returns true, as CanAccessPeer does.
func (d *device) HasPeerAtomics(peer cudart.Info) (bool, error) {
	return d.askAbout(peer, d.nativeAtomics)
}

// askAbout asks the driver about a peer. The answer is true for this GPU itself, and for a peer that
// the driver does not know.
func (d *device) askAbout(peer cudart.Info, about func(handle int32) (bool, error)) (bool, error) {
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
			return about(handle)
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

// nativeAtomicSupported is CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED of cuda.h.
const nativeAtomicSupported = 3

func (d *device) nativeAtomics(peer int32) (bool, error) {
	var has int32
	err := d.api.call(d.api.deviceGetP2PAttribute, uintptr(unsafe.Pointer(&has)), nativeAtomicSupported, uintptr(d.handle),
		uintptr(peer))
	if err != nil {
		return false, fmt.Errorf("asking whether GPU %d has atomics in another's memory: %w", d.info.Ordinal, err)
	}
	return has != 0, nil
}
