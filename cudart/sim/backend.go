// Package sim is a backend of cudart that needs no GPU: it runs PTX on the
// CPU.
//
// Device memory is a memfd. [Device.ExportFD] hands out its descriptor and
// [Device.ImportFD] maps one that came from another process, so that ranks
// share memory as GPUs do over NVLink: ordered accesses and atomics of a
// kernel are atomics on memory that all of them see.
//
// Each stream executes its work on a goroutine of its own. When every warp of
// a kernel is waiting for somebody else, the goroutine gives its CPU away, so
// that more ranks than cores make progress.
package sim

import (
	"fmt"

	"gpurun/cudart"
)

// The simulated GPU. PTX for targets up to its compute capability loads. The
// number of multiprocessors is small because grids are sized after it, and
// each block costs CPU time.
const (
	computeMajor    = 8
	computeMinor    = 0
	multiprocessors = 4
)

// Backend makes simulated devices.
type Backend struct{ devices int }

// New returns a backend with the given number of devices.
func New(devices int) *Backend { return &Backend{devices: devices} }

// Name is "sim".
func (b *Backend) Name() string { return "sim" }

// Devices lists the simulated devices. They share the machine's memory.
func (b *Backend) Devices() ([]cudart.Info, error) {
	memory, err := machineMemory()
	if err != nil {
		return nil, err
	}
	infos := make([]cudart.Info, b.devices)
	for i := range infos {
		infos[i] = cudart.Info{
			Backend: "sim", Ordinal: i, Name: "gpurun simulator",
			UUID:  fmt.Sprintf("GPU-51300000-0000-0000-0000-%012d", i),
			Major: computeMajor, Minor: computeMinor,
			SMs: multiprocessors, TotalMemory: memory.total,
		}
	}
	return infos, nil
}

// Open makes a device usable. It needs no privileges. The device may allocate
// its share of the memory that is available now: more would have the machine
// kill a process once all devices use theirs.
func (b *Backend) Open(ordinal int) (cudart.Device, error) {
	infos, err := b.Devices()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(infos) {
		return nil, failure("opening a simulated device", cudart.ErrInvalidDevice, "device %d does not exist; there are %d", ordinal, len(infos))
	}
	memory, err := machineMemory()
	if err != nil {
		return nil, err
	}
	return newDevice(infos[ordinal], memory.available/int64(b.devices)), nil
}
