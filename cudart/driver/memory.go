package driver

import (
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// cuMemHostAlloc flags.
const (
	hostAllocPortable  = 1
	hostAllocDeviceMap = 2
)

// allocation is device memory that a device allocated.
type allocation struct {
	dev *device
	ptr cudart.DevicePtr
}

func (m allocation) release() error { return m.dev.api.call(m.dev.api.memFree, uintptr(m.ptr)) }

// Malloc allocates device memory.
func (d *device) Malloc(bytes int64) (cudart.DevicePtr, error) {
	if bytes <= 0 {
		return 0, badSize("cuMemAlloc_v2", bytes)
	}
	var ptr cudart.DevicePtr
	if err := d.api.call(d.api.memAlloc, uintptr(unsafe.Pointer(&ptr)), uintptr(bytes)); err != nil {
		return 0, fmt.Errorf("allocating %d bytes: %w", bytes, err)
	}
	d.own(allocation{d, ptr})
	return ptr, nil
}

// Free frees memory that Malloc returned.
func (d *device) Free(ptr cudart.DevicePtr) error {
	m := allocation{d, ptr}
	if !d.disown(m) {
		return &cudart.Error{
			Op: "cuMemFree_v2", Code: cudart.ErrInvalidValue, Detail: fmt.Sprintf("%#x is no live allocation", ptr),
		}
	}
	return m.release()
}

// hostBuffer is page-locked host memory, mapped into the device.
type hostBuffer struct {
	dev    *device
	bytes  []byte
	device cudart.DevicePtr
}

// MallocHost allocates page-locked host memory that all of the process's GPUs
// may address.
func (d *device) MallocHost(bytes int64) (cudart.HostBuffer, error) {
	if bytes <= 0 {
		return nil, badSize("cuMemHostAlloc", bytes)
	}
	var host unsafe.Pointer // outside of Go's heap
	err := d.api.call(d.api.memHostAlloc, uintptr(unsafe.Pointer(&host)), uintptr(bytes),
		hostAllocPortable|hostAllocDeviceMap)
	if err != nil {
		return nil, fmt.Errorf("allocating %d bytes of host memory: %w", bytes, err)
	}
	b := &hostBuffer{dev: d, bytes: unsafe.Slice((*byte)(host), bytes)}
	d.own(b)
	clear(b.bytes)
	if err := d.api.call(d.api.memHostPointer, uintptr(unsafe.Pointer(&b.device)), uintptr(host), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("mapping host memory: %w", err), b.Free())
	}
	return b, nil
}

func (b *hostBuffer) Bytes() []byte               { return b.bytes }
func (b *hostBuffer) DevicePtr() cudart.DevicePtr { return b.device }
func (b *hostBuffer) Free() error                 { return b.dev.closeOwned(b) }

func (b *hostBuffer) release() error {
	host := unsafe.Pointer(unsafe.SliceData(b.bytes))
	b.bytes, b.device = nil, 0
	return b.dev.api.call(b.dev.api.memFreeHost, uintptr(host))
}

func badSize(op string, bytes int64) error {
	return &cudart.Error{Op: op, Code: cudart.ErrInvalidValue, Detail: fmt.Sprintf("a size of %d bytes", bytes)}
}
