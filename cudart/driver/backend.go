// Package driver is the CUDA backend: devices by way of libcuda.so.1, which is
// opened when it is first needed and not before. It needs the NVIDIA driver
// and nothing else, no toolkit and no cgo.
package driver

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/dl"
	"gpurun/cudart/nvml"
)

// Backend finds and opens NVIDIA GPUs. It is safe for concurrent use.
type Backend struct {
	cudaPaths []string
	nvmlPaths []string

	mu  sync.Mutex
	api *api // nil until the library was needed
}

// New returns a backend that has not touched the machine yet.
func New() *Backend {
	return &Backend{
		cudaPaths: []string{
			"libcuda.so.1",
			"/usr/lib/wsl/lib/libcuda.so.1",
			"/usr/local/nvidia/lib64/libcuda.so.1",
			"/run/opengl-driver/lib/libcuda.so.1",
		},
		nvmlPaths: nvml.DefaultPaths(),
	}
}

// Name is "cuda".
func (b *Backend) Name() string { return "cuda" }

// Devices lists the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order. It
// asks NVML, which holds no GPU. SMs stays 0: only an open device tells.
//
// NVML lists GPUs in PCI bus order, as CUDA does where all GPUs are alike or
// CUDA_DEVICE_ORDER=PCI_BUS_ID is set. Where NVML is not installed, and for
// MIG instances, which it does not list, Devices asks CUDA itself, at the
// price of initializing CUDA in this process.
//
// Without a driver or without a visible GPU the error wraps
// [cudart.ErrNoDevice]. A broken driver installation is another error.
func (b *Backend) Devices() ([]cudart.Info, error) {
	value, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	if set && NamesMIG(value) {
		return b.devicesByCUDA()
	}
	lib, err := nvml.Open(b.nvmlPaths...)
	switch {
	case errors.Is(err, dl.ErrNotFound):
		infos, cudaErr := b.devicesByCUDA()
		if errors.Is(cudaErr, dl.ErrNotFound) {
			return nil, noDevice("no NVIDIA driver is installed: %v", cudaErr)
		}
		return infos, cudaErr
	case errors.Is(err, nvml.ErrDriverNotLoaded):
		return nil, noDevice("%v", err)
	case errors.Is(err, nvml.ErrLibRMMismatch):
		return nil, &cudart.Error{Op: "nvmlInit_v2", Code: cudart.ErrSystemMismatch, Detail: advice(cudart.ErrSystemMismatch)}
	case err != nil:
		return nil, fmt.Errorf("listing GPUs: %w", err)
	}
	infos, err := devicesByNVML(lib, value, set)
	return infos, errors.Join(err, lib.Close())
}

func devicesByNVML(lib *nvml.Library, value string, set bool) ([]cudart.Info, error) {
	version, err := lib.DriverVersion()
	if err != nil {
		return nil, fmt.Errorf("listing GPUs: %w", err)
	}
	all, err := lib.Devices()
	if err != nil {
		return nil, fmt.Errorf("listing GPUs: %w", err)
	}
	chosen := make([]int, len(all))
	for i := range chosen {
		chosen[i] = i
	}
	if set {
		chosen, _ = Visible(value, uuids(all)) // an entry that is not taken is CUDA's to ignore
	}
	switch {
	case len(all) == 0:
		return nil, noDevice("the driver is there but sees no GPU; check nvidia-smi and the container's devices")
	case len(chosen) == 0:
		return nil, noDevice("CUDA_VISIBLE_DEVICES=%q leaves none of the %d GPUs", value, len(all))
	}
	infos := make([]cudart.Info, len(chosen))
	for ordinal, i := range chosen {
		infos[ordinal] = cudart.Info{
			Backend: "cuda", Ordinal: ordinal, Name: all[i].Name, UUID: all[i].UUID, PCIBusID: all[i].PCIBusID,
			Major: all[i].Major, Minor: all[i].Minor, TotalMemory: all[i].TotalMemory, Driver: version,
		}
	}
	return infos, nil
}

func uuids(devices []nvml.Device) []string {
	var all []string
	for _, d := range devices {
		all = append(all, d.UUID)
	}
	return all
}

// LibraryVersion opens libcuda and returns the CUDA version that it implements,
// 1000*major+10*minor. It does not initialize CUDA, and so holds no GPU. Where
// there is no library the error wraps [dl.ErrNotFound].
func (b *Backend) LibraryVersion() (int, error) {
	a, err := b.library()
	if err != nil {
		return 0, err
	}
	var version int32
	err = a.call(a.driverGetVersion, uintptr(unsafe.Pointer(&version)))
	return int(version), err
}

func (b *Backend) devicesByCUDA() ([]cudart.Info, error) {
	a, err := b.library()
	if err != nil {
		return nil, err
	}
	count, err := a.initAndCount()
	if err != nil {
		return nil, err
	}
	infos := make([]cudart.Info, count)
	for ordinal := range infos {
		if _, infos[ordinal], err = a.describe(ordinal); err != nil {
			return nil, fmt.Errorf("describing GPU %d: %w", ordinal, err)
		}
	}
	return infos, nil
}

// Init opens libcuda and initializes CUDA.
func (b *Backend) Init() error {
	a, err := b.library()
	if err != nil {
		return err
	}
	return a.call(a.init, 0)
}

// Open makes a GPU's primary context current on the calling goroutine, which
// it locks to its thread. The ordinal counts the visible GPUs, as in Devices.
func (b *Backend) Open(ordinal int) (cudart.Device, error) {
	a, err := b.library()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	d, err := open(a, ordinal)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("opening GPU %d: %w", ordinal, err)
	}
	return d, nil
}

// library opens libcuda.so.1 on the first call. A failure is not kept: the
// next call tries again.
func (b *Backend) library() (*api, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.api != nil {
		return b.api, nil
	}
	a, err := load(b.cudaPaths)
	if err != nil {
		return nil, err
	}
	b.api = a
	return a, nil
}

func noDevice(format string, args ...any) error {
	return &cudart.Error{Op: "listing GPUs", Code: cudart.ErrNoDevice, Detail: fmt.Sprintf(format, args...)}
}
