package sim

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// drainLimit bounds waits that have no context. Kernels bound their own spins,
// so a longer wait means that one hangs.
const drainLimit = 10 * time.Minute

// Device is a simulated GPU. It implements cudart.Device.
type Device struct {
	info cudart.Info
	seed uint64 // of disorder; 0 for none
	// tearVectors: the memory model is PTXMemory.
	tearVectors bool

	memory *memory
	awake  *awakeClock
	clock  *Clock          // nil: the machine's
	stop   context.Context // done when the device closes
	cancel context.CancelFunc
	wake   chan struct{} // holds a token when a queue may have work
	ended  chan struct{} // closed when the goroutine of the streams has returned
	made   int           // streams so far; the owner's
	loaded int           // modules so far; the owner's
	// released is what kernels have released to the device alone; the streams' goroutine's.
	gpuScope exec.GPUScopeStores
	heap     *exec.Heap // for malloc in kernels; nil until a kernel needs it
	output   *prefixed  // of printf in kernels

	mu      sync.Mutex
	streams []*stream // those that are not over; replaced and never changed
	fault   error     // the first fault of a kernel, which every later call reports
	stats   exec.Stats
	// questions are inspections that wait for an answer.
	questions []inspection
}

// newDevice makes a device that allocates so many bytes at most, with the time of a clock or, if it is nil, of the
// machine.
func newDevice(info cudart.Info, memory int64, seed uint64, clock *Clock) *Device {
	d := &Device{
		info: info, memory: newMemory(memory), awake: newAwakeClock(), clock: clock, seed: seed,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	d.output = &prefixed{to: os.Stderr, prefix: fmt.Sprintf("[device %d] ", info.Ordinal)}
	d.stop, d.cancel = context.WithCancel(context.Background())
	clock.add(d)
	return d
}

// Info describes the device.
func (d *Device) Info() cudart.Info { return d.info }

// Nanoseconds implements exec.Clock.
func (d *Device) Nanoseconds() uint64 {
	if d.clock != nil {
		return uint64(d.clock.read())
	}
	return d.awake.nanoseconds()
}

// sticky returns the fault that broke the device, if one did.
func (d *Device) sticky() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fault
}

func (d *Device) setFault(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == nil {
		d.fault = err
	}
}

// Stats counts what the kernels that have ended executed.
func (d *Device) Stats() exec.Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

func (d *Device) count(s exec.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.WarpInstructions += s.WarpInstructions
	d.stats.LaneInstructions += s.LaneInstructions
}

// Malloc allocates zeroed memory, in a region of addresses of its own.
func (d *Device) Malloc(bytes int64) (cudart.DevicePtr, error) {
	if err := d.sticky(); err != nil {
		return 0, err
	}
	a, err := d.memory.allocate(bytes)
	if err != nil {
		return 0, failedBy("allocating device memory", err)
	}
	return cudart.DevicePtr(a.base), nil
}

// Free waits for all work on the device and then unmaps what Malloc, ImportFD
// or Multicast returned.
func (d *Device) Free(ptr cudart.DevicePtr) error {
	if ptr == 0 {
		return nil
	}
	a, err := d.memory.find(ptr)
	if err != nil || a.host {
		return failure("freeing device memory", cudart.ErrInvalidValue, "%v", err)
	}
	if d.memory.isMember(a) {
		return failure("freeing device memory", cudart.ErrInvalidValue,
			"%#x is part of a multicast address, which must be freed first", uint64(ptr))
	}
	return d.free(a)
}

func (d *Device) free(a *allocation) error {
	ctx, cancel := context.WithTimeout(d.stop, drainLimit)
	defer cancel()
	for _, s := range d.allStreams() {
		if err := s.drain(ctx); err != nil {
			return fmt.Errorf("waiting for kernels before freeing memory: %w", err)
		}
	}
	return d.memory.release(a)
}

// MallocHost allocates memory that both sides address.
func (d *Device) MallocHost(bytes int64) (cudart.HostBuffer, error) {
	if err := d.sticky(); err != nil {
		return nil, err
	}
	a, err := d.memory.allocate(bytes)
	if err != nil {
		return nil, failedBy("allocating host memory", err)
	}
	a.host = true
	return &hostBuffer{device: d, allocation: a}, nil
}

type hostBuffer struct {
	device     *Device
	allocation *allocation
	freed      bool
}

func (h *hostBuffer) Bytes() []byte { return h.allocation.data[:h.allocation.size] }

func (h *hostBuffer) DevicePtr() cudart.DevicePtr { return cudart.DevicePtr(h.allocation.base) }

func (h *hostBuffer) Free() error {
	if h.freed {
		return failure("freeing host memory", cudart.ErrInvalidValue, "it was freed before")
	}
	h.freed = true
	return h.device.free(h.allocation)
}

// Close stops running kernels, and releases streams and memory.
func (d *Device) Close() error {
	d.cancel()
	if d.made > 0 {
		<-d.ended // bounded: a kernel looks at d.stop many times a second
	}
	d.clock.remove(d)
	return d.memory.releaseAll()
}
