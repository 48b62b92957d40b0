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

// binding is this device's memory in a multicast group.
type binding struct {
	dev   *device
	group uint64
	bytes int64
}

func (b binding) release() error {
	return b.dev.api.call(b.dev.api.multicastUnbind, uintptr(b.group), uintptr(b.dev.handle), 0, uintptr(b.bytes))
}

// CanMulticast returns nil where the device can be in a multicast group, or the reason why not. It
// creates nothing.
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

// CreateMulticast creates a multicast group, CUDA's multicast object. Its handle is exported,
// imported, mapped and released as that of memory is. One process creates the group, and then all
// processes take these steps, each after all have finished the previous one: JoinMulticast, BindMulticast,
// MapMemory. The size is a multiple of MulticastGranularity.
//
// On a machine that others share, a multicast group can take GPUs out of service: the caller must
// know that it is wanted.
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

// JoinMulticast adds the device to a multicast group.
func (d *device) JoinMulticast(group uint64) error {
	if err := d.api.call(d.api.multicastAddDevice, uintptr(group), uintptr(d.handle)); err != nil {
		return fmt.Errorf("adding GPU %d to a multicast object: %w", d.info.Ordinal, err)
	}
	return nil
}

// BindMulticast binds memory of the device to a multicast group that all devices have joined.
// UnbindMulticast ends that, before the memory is released.
func (d *device) BindMulticast(group, memory uint64, bytes int64) error {
	if err := d.api.call(d.api.multicastBindMem, uintptr(group), 0, uintptr(memory), 0, uintptr(bytes), 0); err != nil {
		return fmt.Errorf("binding %d bytes to a multicast object: %w", bytes, err)
	}
	d.own(binding{d, group, bytes})
	return nil
}

// UnbindMulticast ends the binding of the device's memory to a multicast group.
func (d *device) UnbindMulticast(group uint64) error {
	for r := range d.owned {
		if b, ok := r.(binding); ok && b.group == group {
			return d.closeOwned(b)
		}
	}
	return invalid("cuMulticastUnbind", "no memory is bound to %#x", group)
}
