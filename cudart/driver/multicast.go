package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart/dl"
)

// attrMulticast is CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED.
const attrMulticast = 132

// multicastProp is CUmulticastObjectProp.
type multicastProp struct {
	devices     uint32
	_           uint32
	bytes       uint64
	handleTypes uint64
	_           uint64 // flags
}

// binding is this device's memory in a multicast object.
type binding struct {
	dev   *device
	team  uint64
	bytes int64
}

func (b binding) release() error {
	return b.dev.api.call(b.dev.api.multicastUnbind, uintptr(b.team), uintptr(b.dev.handle), 0, uintptr(b.bytes))
}

// CanMulticast returns nil where the device can be part of a multicast object,
// and says why not otherwise. It creates nothing.
func (d *device) CanMulticast() error {
	if !dl.AllFound(d.api.multicastBindings()) {
		return unsupported("cuMulticastCreate", "the driver has no multicast objects, which came with CUDA 12.1")
	}
	return d.wantAttribute(attrMulticast, "MULTICAST_SUPPORTED")
}

// MulticastGranularity is what the size of a multicast object for so many devices
// and about so many bytes must be a multiple of.
func (d *device) MulticastGranularity(devices int, bytes int64, fabric bool) (int64, error) {
	var granularity uint64
	err := d.api.call(d.api.multicastGetGranularity, uintptr(unsafe.Pointer(&granularity)),
		uintptr(unsafe.Pointer(newMulticastProp(devices, bytes, fabric))), granularityRecommended)
	if err != nil {
		return 0, fmt.Errorf("asking for the granularity of multicast objects: %w", err)
	}
	return int64(granularity), nil
}

// CreateMulticast makes a multicast object, whose handle is exported, imported,
// mapped and released as that of memory is. One process makes it, and all of them
// go on step by step, each only when all have done the one before: JoinMulticast,
// BindMulticast, MapMemory. The size is a multiple of MulticastGranularity.
//
// On a machine whose GPUs others share such an object can take them out of
// service: it is for the caller to know that it is wanted.
func (d *device) CreateMulticast(devices int, bytes int64, fabric bool) (uint64, error) {
	p := physical{dev: d}
	err := d.api.call(d.api.multicastCreate, uintptr(unsafe.Pointer(&p.handle)),
		uintptr(unsafe.Pointer(newMulticastProp(devices, bytes, fabric))))
	if err != nil {
		return 0, fmt.Errorf("creating a multicast object of %d bytes for %d devices: %w", bytes, devices, err)
	}
	d.own(p)
	return p.handle, nil
}

func newMulticastProp(devices int, bytes int64, fabric bool) *multicastProp {
	return &multicastProp{devices: uint32(devices), bytes: uint64(bytes), handleTypes: uint64(handleType(fabric))}
}

// JoinMulticast adds the device to a multicast object.
func (d *device) JoinMulticast(team uint64) error {
	if err := d.api.call(d.api.multicastAddDevice, uintptr(team), uintptr(d.handle)); err != nil {
		return fmt.Errorf("adding GPU %d to a multicast object: %w", d.info.Ordinal, err)
	}
	return nil
}

// BindMulticast puts memory of the device into a multicast object that all
// devices have joined. UnbindMulticast ends that, before the memory is released.
func (d *device) BindMulticast(team, memory uint64, bytes int64) error {
	if err := d.api.call(d.api.multicastBindMem, uintptr(team), 0, uintptr(memory), 0, uintptr(bytes), 0); err != nil {
		return fmt.Errorf("binding %d bytes to a multicast object: %w", bytes, err)
	}
	d.own(binding{d, team, bytes})
	return nil
}

// UnbindMulticast takes the device's memory out of a multicast object.
func (d *device) UnbindMulticast(team uint64) error {
	for r := range d.owned {
		if b, ok := r.(binding); ok && b.team == team {
			return d.closeOwned(b)
		}
	}
	return invalid("cuMulticastUnbind", "no memory is bound to %#x", team)
}
