// Package sim is a backend of cudart that needs no GPU: it runs PTX on the
// CPU.
//
// Device memory is a memfd. [Device.ExportFD] hands out its descriptor and
// [Device.ImportFD] maps one that came from another process, so that ranks
// share memory as GPUs do over NVLink: ordered accesses and atomics of a
// kernel are atomics on memory that all of them see. [Device.Multicast] gives
// such memory the one address that multimem instructions take.
//
// One goroutine gives the streams of a device turns, so that their kernels and copies run
// concurrently. When all of them wait for other ranks, the goroutine backs off, so that more ranks than
// cores make progress.
package sim

import (
	"fmt"

	"gpurun/cudart"
)

// multiprocessors is small because grids are sized after it, and each block
// costs CPU time.
const multiprocessors = 4

// Options are properties of all devices of a backend.
type Options struct {
	// Major and Minor are the compute capability; 10.0 where both are zero.
	// PTX for higher targets does not load. The tensor cores, the shared memory of a block and what a
	// launch may ask for follow it.
	Major, Minor int
	// Memory says what of a vector access is one access.
	Memory MemoryModel
	// Seed, where it is not zero, makes kernels see memory in disorder: warps
	// and blocks take turns at random, stores that nothing orders become visible
	// late and in any order, weak loads see values that this process's devices have
	// overwritten until the block acquires, and asynchronous multiplications are
	// performed at any time until they are waited for. See [gpurun/cudart/sim/exec]. Streams begin
	// their commands late, and copies are made in pieces, at any time and in any
	// order that streams and events leave open. A seed and a device's ordinal give
	// the same disorder again, as far as other processes and the time at which work
	// is enqueued are the same again.
	Seed uint64
	// Clock, where it is not nil, is the time of all devices, in place of the machine's.
	Clock *Clock
}

// Backend makes simulated devices.
type Backend struct {
	devices int
	options Options
}

// New returns a backend with the given number of devices.
func New(devices int, o Options) *Backend {
	if o.Major == 0 && o.Minor == 0 {
		o.Major = 10
	}
	return &Backend{devices: devices, options: o}
}

// WithMemory is a backend like b with another memory model.
func (b *Backend) WithMemory(m MemoryModel) *Backend {
	other := *b
	other.options.Memory = m
	return &other
}

// WithClock is a backend like b whose devices have the time of a clock.
func (b *Backend) WithClock(c *Clock) *Backend {
	other := *b
	other.options.Clock = c
	return &other
}

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
			Backend: "sim", Ordinal: i, Name: cudart.SimulatorName,
			UUID:  fmt.Sprintf("GPU-51300000-0000-0000-0000-%012d", i),
			Major: b.options.Major, Minor: b.options.Minor,
			SMs: multiprocessors, TotalMemory: memory.total,
		}
	}
	return infos, nil
}

// Init has nothing to do.
func (b *Backend) Init() error { return nil }

// Open makes a device usable. It needs no privileges. The device may allocate
// its share of the memory that is available now: more would have the machine
// kill a process once all devices use theirs.
func (b *Backend) Open(ordinal int) (cudart.Device, error) {
	infos, err := b.Devices()
	if err != nil {
		return nil, err
	}
	if ordinal < 0 || ordinal >= len(infos) {
		return nil, failure("opening a simulated device", cudart.ErrInvalidDevice, "device %d does not exist; there are %d",
			ordinal, len(infos))
	}
	memory, err := machineMemory()
	if err != nil {
		return nil, err
	}
	d := newDevice(infos[ordinal], memory.available/int64(b.devices), b.options.Seed, b.options.Clock)
	d.tearVectors = b.options.Memory == PTXMemory
	return d, nil
}
