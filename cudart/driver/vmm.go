package driver

import (
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// CUdevice_attribute numbers of virtual memory management.
const (
	attrVMM    = 102
	attrFile   = 103
	attrFabric = 128
)

// CUmemAllocationHandleType, and other numbers of cuda.h.
const (
	handleFile             = 1
	handleFabric           = 8
	allocationPinned       = 1
	locationDevice         = 1
	granularityRecommended = 1
)

// memLocation is CUmemLocation.
type memLocation struct{ kind, id int32 }

// allocationProp is CUmemAllocationProp.
type allocationProp struct {
	kind        int32
	handleTypes int32
	location    memLocation
	_           uintptr // of Windows
	compression uint8
	rdma        uint8
	usage       uint16
	_           [4]byte
}

// physical is a CUmemGenericAllocationHandle: memory without an address, own or
// imported, or a multicast object.
type physical struct {
	dev    *device
	handle uint64
}

func (p physical) release() error { return p.dev.api.call(p.dev.api.memRelease, uintptr(p.handle)) }

// handleType is how processes pass on a handle: as a file descriptor within a
// machine, or as 64 bytes within a fabric, which may span machines.
func handleType(fabric bool) int32 {
	if fabric {
		return handleFabric
	}
	return handleFile
}

// CanExport returns nil where other processes can map memory of this device
// that CreateMemory made, by files or by fabric handles, and says why not
// otherwise. It proves that by an export, because a driver may take memory for
// exportable that it then does not export.
func (d *device) CanExport(fabric bool) error {
	if !d.api.hasVMM() {
		return unsupported("cuMemCreate", "the driver has no virtual memory management, which came with CUDA 10.2")
	}
	if err := d.wantAttribute(attrVMM, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED"); err != nil {
		return err
	}
	attribute, name := attrFile, "HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED"
	if fabric {
		attribute, name = attrFabric, "HANDLE_TYPE_FABRIC_SUPPORTED"
	}
	if err := d.wantAttribute(attribute, name); err != nil {
		return err
	}
	bytes, err := d.MemoryGranularity(fabric)
	if err != nil {
		return err
	}
	memory, err := d.CreateMemory(bytes, fabric)
	if err != nil {
		return err
	}
	return errors.Join(d.tryExport(memory, fabric), d.ReleaseMemory(memory))
}

// tryExport exports memory and forgets the handle.
func (d *device) tryExport(memory uint64, fabric bool) error {
	if fabric {
		_, err := d.ExportFabric(memory)
		return err
	}
	file, err := d.ExportFile(memory)
	if err != nil {
		return err
	}
	return file.Close()
}

// hasVMM reports whether the library has all of virtual memory management.
func (a *api) hasVMM() bool { return dl.AllFound(a.vmmBindings()) }

// wantAttribute returns an error unless an attribute of the device is set.
func (d *device) wantAttribute(number int, name string) error {
	var value int32
	err := d.api.call(d.api.deviceGetAttribute, uintptr(unsafe.Pointer(&value)), uintptr(number), uintptr(d.handle))
	if err != nil {
		return fmt.Errorf("asking for the device attribute %s: %w", name, err)
	}
	if value == 0 {
		return unsupported("cuDeviceGetAttribute", "the device attribute "+name+" is 0")
	}
	return nil
}

// onDevice describes pinned memory of this device that can be exported.
func (d *device) onDevice(fabric bool) *allocationProp {
	return &allocationProp{
		kind:        allocationPinned,
		handleTypes: handleType(fabric),
		location:    memLocation{locationDevice, d.handle},
	}
}

// MemoryGranularity is what the size of memory must be a multiple of, in bytes.
func (d *device) MemoryGranularity(fabric bool) (int64, error) {
	var bytes uint64
	err := d.api.call(d.api.memGetAllocationGranularity, uintptr(unsafe.Pointer(&bytes)),
		uintptr(unsafe.Pointer(d.onDevice(fabric))), granularityRecommended)
	if err != nil {
		return 0, fmt.Errorf("asking for the granularity of memory: %w", err)
	}
	return int64(bytes), nil
}

// CreateMemory allocates memory without an address and returns its handle. The
// size is a multiple of MemoryGranularity. MapMemory gives it an address,
// ExportFile and ExportFabric make handles for other processes, and ReleaseMemory frees
// it once no process maps it.
func (d *device) CreateMemory(bytes int64, fabric bool) (uint64, error) {
	if bytes <= 0 {
		return 0, badSize("cuMemCreate", bytes)
	}
	p := physical{dev: d}
	err := d.api.call(d.api.memCreate, uintptr(unsafe.Pointer(&p.handle)), uintptr(bytes),
		uintptr(unsafe.Pointer(d.onDevice(fabric))), 0)
	if err != nil {
		return 0, fmt.Errorf("allocating %d bytes: %w", bytes, err)
	}
	d.own(p)
	return p.handle, nil
}

// ReleaseMemory releases a handle, own or imported, of memory or of a multicast group. The memory
// stays allocated while it is mapped or other processes have handles.
func (d *device) ReleaseMemory(handle uint64) error {
	p := physical{d, handle}
	if !d.disown(p) {
		return invalid("cuMemRelease", "%#x is no live handle of memory", handle)
	}
	return p.release()
}

func unsupported(op, detail string) error {
	return &cudart.Error{Op: op, Code: cudart.ErrNotSupported, Detail: detail}
}

func invalid(op, format string, args ...any) error {
	return &cudart.Error{Op: op, Code: cudart.ErrInvalidValue, Detail: fmt.Sprintf(format, args...)}
}
