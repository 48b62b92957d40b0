package driver

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

// cuMemHostRegister flags.
const (
	hostRegisterPortable  = 1
	hostRegisterDeviceMap = 2
)

// hostImport is a mapped and registered memfd.
type hostImport struct {
	dev   *device
	bytes []byte
	ptr   cudart.DevicePtr
}

// ImportHost maps the whole of a memfd, which any process of this machine may
// have made, and returns the device's address of it. Every GPU reads and writes
// it there, without peer access. The size is the file's, which has to be sealed
// against shrinking: a page that vanished would end the process. The file stays
// the caller's and may be closed; CloseHost ends the mapping.
//
// Loads and stores, and their order, follow PTX's memory model. Atomics that
// read and write are atomic among GPUs only where the link to the host carries
// them (CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED); PCIe does as a rule not.
func (d *device) ImportHost(file *os.File) (cudart.DevicePtr, error) {
	bytes, err := mapShared(file)
	if err != nil {
		return 0, fmt.Errorf("importing host memory: %w", err)
	}
	host := uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))
	err = d.api.call(d.api.memHostRegister, host, uintptr(len(bytes)), hostRegisterPortable|hostRegisterDeviceMap)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("registering %d bytes of host memory: %w", len(bytes), err), unix.Munmap(bytes))
	}
	h := &hostImport{dev: d, bytes: bytes}
	d.own(h)
	if err := d.api.call(d.api.memHostPointer, uintptr(unsafe.Pointer(&h.ptr)), host, 0); err != nil {
		return 0, errors.Join(fmt.Errorf("mapping host memory: %w", err), d.closeOwned(h))
	}
	return h.ptr, nil
}

// mapShared maps all of a memfd that cannot shrink.
func mapShared(file *os.File) ([]byte, error) {
	seals, err := unix.FcntlInt(file.Fd(), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, invalidHost("the descriptor is no memfd that is sealed against shrinking")
	}
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("asking for its size: %w", err)
	}
	if info.Size() == 0 {
		return nil, invalidHost("the memfd is empty")
	}
	bytes, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", info.Size(), err)
	}
	return bytes, nil
}

// CloseHost unmaps what ImportHost mapped. No kernel may be using it.
func (d *device) CloseHost(ptr cudart.DevicePtr) error {
	for r := range d.owned {
		if h, ok := r.(*hostImport); ok && h.ptr == ptr {
			return d.closeOwned(h)
		}
	}
	return invalidHost(fmt.Sprintf("%#x is no imported host memory", ptr))
}

func (h *hostImport) release() error {
	host := uintptr(unsafe.Pointer(unsafe.SliceData(h.bytes)))
	return errors.Join(h.dev.api.call(h.dev.api.memHostUnregister, host), unix.Munmap(h.bytes))
}

func invalidHost(detail string) error {
	return &cudart.Error{Op: "cuMemHostRegister_v2", Code: cudart.ErrInvalidValue, Detail: detail}
}
