package driver

import (
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// accessReadWrite is CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
const accessReadWrite = 3

// accessDesc is CUmemAccessDesc.
type accessDesc struct {
	location memLocation
	flags    int32
}

// addressRange is a range of addresses with memory behind it.
type addressRange struct {
	dev   *device
	ptr   cudart.DevicePtr
	bytes int64
}

func (r addressRange) release() error {
	return errors.Join(r.dev.api.call(r.dev.api.memUnmap, uintptr(r.ptr), uintptr(r.bytes)), r.unreserve())
}

func (r addressRange) unreserve() error {
	return r.dev.api.call(r.dev.api.memAddressFree, uintptr(r.ptr), uintptr(r.bytes))
}

// MapMemory gives a handle's memory, or multicast object, an address where this
// device reads and writes it. The size is that of all of it. The caller ends the
// mapping with UnmapMemory, and may release the handle before.
func (d *device) MapMemory(handle uint64, bytes int64) (cudart.DevicePtr, error) {
	r := addressRange{dev: d, bytes: bytes}
	err := d.api.call(d.api.memAddressReserve, uintptr(unsafe.Pointer(&r.ptr)), uintptr(bytes), 0, 0, 0)
	if err != nil {
		return 0, fmt.Errorf("reserving %d bytes of addresses: %w", bytes, err)
	}
	if err := d.api.call(d.api.memMap, uintptr(r.ptr), uintptr(bytes), 0, uintptr(handle), 0); err != nil {
		return 0, errors.Join(fmt.Errorf("mapping %d bytes: %w", bytes, err), r.unreserve())
	}
	access := accessDesc{memLocation{locationDevice, d.handle}, accessReadWrite}
	if err := d.api.call(d.api.memSetAccess, uintptr(r.ptr), uintptr(bytes), uintptr(unsafe.Pointer(&access)),
		1); err != nil {
		return 0, errors.Join(fmt.Errorf("giving GPU %d access to %d bytes: %w", d.info.Ordinal, bytes, err), r.release())
	}
	d.own(r)
	return r.ptr, nil
}

// UnmapMemory ends what MapMemory mapped. No kernel may be using it.
func (d *device) UnmapMemory(ptr cudart.DevicePtr) error {
	for r := range d.owned {
		if r, ok := r.(addressRange); ok && r.ptr == ptr {
			return d.closeOwned(r)
		}
	}
	return invalid("cuMemUnmap", "%#x is no mapped memory", ptr)
}
