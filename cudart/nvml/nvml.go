// Package nvml asks NVIDIA's management library which GPUs a machine has. It
// takes no CUDA context, so that a launcher can look without holding a GPU.
//
// Only what gpurun needs of NVML is here. Names, numbers and layouts are those
// of nvml.h, API version 13, which has kept them stable since version 4.
package nvml

import (
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart/dl"
)

// Sizes of the text buffers that nvml.h asks for, in bytes.
const (
	uuidBytes    = 96 // NVML_DEVICE_UUID_V2_BUFFER_SIZE
	nameBytes    = 96 // NVML_DEVICE_NAME_V2_BUFFER_SIZE
	versionBytes = 80 // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
)

// DefaultPaths is where the library is looked for: wherever the dynamic loader
// looks, then where WSL 2, Kubernetes' device plugin and NixOS put it.
func DefaultPaths() []string {
	return []string{
		"libnvidia-ml.so.1",
		"/usr/lib/wsl/lib/libnvidia-ml.so.1",
		"/usr/local/nvidia/lib64/libnvidia-ml.so.1",
		"/run/opengl-driver/lib/libnvidia-ml.so.1",
	}
}

// Device is one GPU as NVML describes it.
type Device struct {
	Index       int // in PCI bus order, MIG instances not counted
	Name        string
	UUID        string // "GPU-" and 36 characters
	PCIBusID    string // as CUDA writes it: "0000:18:00.0"
	Major       int    // compute capability
	Minor       int
	TotalMemory int64 // bytes; 0 where NVML does not tell, as on GPUs that share the host's memory
}

// Library is an open, initialized NVML. Its methods may be called from any
// goroutine.
type Library struct {
	fns functions
}

// Open opens and initializes the first of the candidate libraries that loads.
// Where none does, the error wraps [dl.ErrNotFound]; where NVML refuses, it is
// an [*Error]. The caller closes the library.
func Open(candidates ...string) (*Library, error) {
	lib, err := dl.Open(candidates...)
	if err != nil {
		return nil, fmt.Errorf("opening NVML: %w", err)
	}
	fns, err := bind(lib)
	if err != nil {
		return nil, fmt.Errorf("opening NVML: %w", err)
	}
	if err := check(fns.init, fns.init.Call()); err != nil {
		return nil, err
	}
	return &Library{fns: fns}, nil
}

// Close shuts NVML down.
func (l *Library) Close() error { return check(l.fns.shutdown, l.fns.shutdown.Call()) }

// DriverVersion is the version of the kernel driver, such as "580.95.05".
func (l *Library) DriverVersion() (string, error) {
	buffer := make([]byte, versionBytes)
	err := check(l.fns.driverVersion, l.fns.driverVersion.Call(uintptr(unsafe.Pointer(&buffer[0])), versionBytes))
	return dl.Text(buffer), err
}

// LibraryVersion is the version of the library itself: API and driver, as in
// "13.580.95.05". It is "" where the library is too old to tell.
func (l *Library) LibraryVersion() (string, error) {
	buffer := make([]byte, versionBytes)
	err := call(l.fns.libraryVersion, uintptr(unsafe.Pointer(&buffer[0])), versionBytes)
	if unknowable(err) {
		return "", nil
	}
	return dl.Text(buffer), err
}

// CUDAVersion is the newest CUDA that the driver supports, 1000*major+10*minor,
// or 0 where the library is too old to tell.
func (l *Library) CUDAVersion() (int, error) {
	var version int32
	err := call(l.fns.cudaVersion, uintptr(unsafe.Pointer(&version)))
	if unknowable(err) {
		return 0, nil
	}
	return int(version), err
}

// Devices describes all GPUs that this process may see, in PCI bus order.
func (l *Library) Devices() ([]Device, error) {
	count, err := l.Count()
	if err != nil {
		return nil, err
	}
	devices := make([]Device, count)
	for i := range devices {
		if devices[i], err = l.describe(i); err != nil {
			return nil, fmt.Errorf("asking NVML about GPU %d: %w", i, err)
		}
	}
	return devices, nil
}

// handle is the nvmlDevice_t, an opaque pointer, of a GPU by its index.
func (l *Library) handle(index int) (handle uintptr, err error) {
	f := l.fns.handle
	return handle, check(f, f.Call(uintptr(index), uintptr(unsafe.Pointer(&handle))))
}

func (l *Library) describe(index int) (Device, error) {
	handle, err := l.handle(index)
	if err != nil {
		return Device{}, err
	}
	f := l.fns
	var (
		name, uuid   = make([]byte, nameBytes), make([]byte, uuidBytes)
		pci          pciInfo
		memory       memory
		major, minor int32
	)
	memoryErr := check(f.memory, f.memory.Call(handle, uintptr(unsafe.Pointer(&memory))))
	if errors.Is(memoryErr, ErrNotSupported) {
		memoryErr = nil
	}
	err = errors.Join(
		memoryErr,
		check(f.name, f.name.Call(handle, uintptr(unsafe.Pointer(&name[0])), nameBytes)),
		check(f.uuid, f.uuid.Call(handle, uintptr(unsafe.Pointer(&uuid[0])), uuidBytes)),
		check(f.pci, f.pci.Call(handle, uintptr(unsafe.Pointer(&pci)))),
		check(f.capability, f.capability.Call(handle, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))),
	)
	return Device{
		Index:       index,
		Name:        dl.Text(name),
		UUID:        dl.Text(uuid),
		PCIBusID:    fmt.Sprintf("%04x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device),
		Major:       int(major),
		Minor:       int(minor),
		TotalMemory: int64(memory.Total),
	}, err
}

// pciInfo is nvmlPciInfo_t, 68 bytes.
type pciInfo struct {
	BusIDLegacy    [16]byte
	Domain         uint32
	Bus            uint32
	Device         uint32
	PCIDeviceID    uint32
	PCISubSystemID uint32
	BusID          [32]byte
}

// memory is nvmlMemory_t, in bytes.
type memory struct {
	Total, Free, Used uint64
}
