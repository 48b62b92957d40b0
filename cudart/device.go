// Package cudart holds the small interfaces through which the rest of gpurun
// sees a device: memory, modules, streams, events and graphs.
//
// Two backends implement them: cudart/driver talks to libcuda.so.1, cudart/sim
// runs the same PTX on the CPU. Only cmd/gpurun chooses one.
package cudart

import (
	"context"
	"time"
)

// DevicePtr is an address in a device's address space, in bytes. Zero is the
// null pointer. It is never a Go pointer and keeps nothing alive.
type DevicePtr uint64

// Info describes one device as the backend found it.
type Info struct {
	Backend     string `json:"backend"` // "cuda" or "sim"
	Ordinal     int    `json:"ordinal"` // index among the visible devices
	Name        string `json:"name"`
	UUID        string `json:"uuid,omitempty"`
	PCIBusID    string `json:"pci_bus_id,omitempty"`
	Major       int    `json:"compute_major"` // compute capability
	Minor       int    `json:"compute_minor"`
	SMs         int    `json:"sms"`          // streaming multiprocessors
	TotalMemory int64  `json:"total_memory"` // bytes
	Driver      string `json:"driver,omitempty"`
	// LaunchesBlock: a launch returns when the kernel has ended, as with CUDA_LAUNCH_BLOCKING=1.
	LaunchesBlock bool `json:"launches_block,omitempty"`
}

// Backend finds and opens devices.
type Backend interface {
	// Name is "cuda" or "sim".
	Name() string
	// Devices lists the visible devices without opening one. It is cheap
	// enough for the launcher to call before it starts a worker.
	Devices() ([]Info, error)
	// Init does what a process does once, whichever device it opens, and takes long
	// on GPUs. Open does it where it has not been done.
	Init() error
	// Open makes a device usable by the calling goroutine, which it locks to
	// its OS thread: all further calls on the device, and on whatever the
	// device hands out, come from that goroutine until Close.
	Open(ordinal int) (Device, error)
}

// Device is one open device. It is not safe for concurrent use; see
// [Backend.Open].
type Device interface {
	Info() Info

	// Malloc allocates bytes of device memory, aligned to at least 256 bytes
	// and with undefined contents. The caller frees it.
	Malloc(bytes int64) (DevicePtr, error)
	Free(ptr DevicePtr) error

	// MallocHost allocates zeroed host memory that kernels can also read and
	// write while they run.
	MallocHost(bytes int64) (HostBuffer, error)

	// EncodeTensorMap makes what cp.async.bulk.tensor reads of m. The caller passes
	// it among a kernel's parameters, at a multiple of TensorMapAlign, of which the kernel takes the
	// generic address. A kernel that finds it in device memory fences first: fence.proxy.tensormap.
	// Only the device that encoded it can use it. Compute capability 9.0.
	EncodeTensorMap(m TensorMap) ([TensorMapBytes]byte, error)

	// LoadModule compiles PTX text. The name appears in errors.
	LoadModule(name string, ptx []byte) (Module, error)

	// NewStream makes a stream that waits for no other stream.
	NewStream(options ...StreamOption) (Stream, error)
	NewEvent() (Event, error)

	// Close releases everything that the device still owns.
	Close() error
}

// HostBuffer is host memory that the device can address.
type HostBuffer interface {
	// Bytes is the host's view. It is invalid after Free.
	Bytes() []byte
	// DevicePtr is the device's view of the same memory.
	DevicePtr() DevicePtr
	Free() error
}

// Module is loaded PTX.
type Module interface {
	// Kernel finds an entry point by its name in the PTX.
	Kernel(entry string) (Kernel, error)
	Unload() error
}

// Kernel is an entry point of a loaded module. It is valid until the module
// is unloaded.
type Kernel interface {
	Name() string
}

// Launch is the shape of a kernel launch. Grids and blocks are
// one-dimensional; every kernel of gpurun is.
type Launch struct {
	Blocks      int // grid size
	Threads     int // block size
	SharedBytes int // dynamic shared memory per block
	// Cluster is how many blocks form a cluster, whose shared memory they all
	// reach: 1 to MaxCluster, with Blocks a multiple of it. 0 is as 1, or as many as
	// the kernel requires. More than 1 needs compute capability 9.0.
	Cluster int
	// PDL asks for programmatic dependent launch: the kernel may start while
	// the kernel before it in the stream still runs, and must execute
	// griddepcontrol.wait before it touches memory. Compute capability 9.0.
	PDL bool
	// Brief says that the kernel is over before the host could launch another. Outside
	// of a capture, what takes the host least then goes before PDL, if the stream was
	// prepared for the kernel. It is a hint.
	ShortRunning bool
}

// StreamOption is a property of a new stream.
type StreamOption uint8

// HighPriority asks for the highest priority of the device: work of the stream
// goes before that of others where both could begin. It is a hint.
const HighPriority StreamOption = 1

// Stream is an ordered queue of device work. Work of two streams runs at once,
// in any order, except for what [Stream.Wait] says.
type Stream interface {
	// Launch enqueues a kernel whose single parameter is the block params.
	// The bytes are copied before Launch returns.
	Launch(k Kernel, shape Launch, params []byte) error
	// Prepare makes the stream ready for brief launches of a kernel. As when a module is
	// loaded, the device may wait for kernels that run. A stream that is captured cannot be
	// prepared.
	Prepare(k Kernel) error
	// Copy enqueues a copy between device addresses, peers' included.
	Copy(dst, src DevicePtr, bytes int64) error
	// Fill enqueues a memset of bytes bytes to value.
	Fill(dst DevicePtr, value byte, bytes int64) error
	// WriteValue enqueues the writing of a 32-bit word, at a multiple of 4, once
	// everything before it in the stream is complete and visible to the whole
	// system: a kernel that acquires the word, on any stream or device, sees it.
	// The device does not know that the kernel waits, so enqueue the write first
	// where the order is free: streams may share a hardware queue.
	WriteValue(dst DevicePtr, value uint32) error
	// WaitValue has what is enqueued from now on begin only when the 32-bit word at
	// addr, a multiple of 4, is at or beyond a value: when their difference, as a
	// signed number, is not negative, so that counts may wrap around. What was
	// visible to the system before the word was written is visible then. Nothing bounds
	// the wait: who waits for a peer sees to it that somebody writes the word should
	// the peer not come.
	WaitValue(addr DevicePtr, value uint32) error
	// Record enqueues the taking of a time stamp. In a capture the event only marks
	// the place for Wait, and takes no time.
	Record(e Event) error
	// Wait has all that is enqueued from now on begin only when the stream in
	// which e was last recorded has got there. An event that was never recorded
	// is not waited for.
	Wait(e Event) error

	// Upload and Download wait for the work enqueued so far, copy, and return
	// when the copy is complete. They cannot be captured.
	Upload(dst DevicePtr, src []byte) error
	Download(dst []byte, src DevicePtr) error

	// Synchronize waits until all enqueued work is done and reports its
	// first error. When ctx ends first, it returns ctx's error and the work
	// goes on.
	Synchronize(ctx context.Context) error

	// Capture calls enqueue and records what it enqueues on this stream
	// instead of running it. Another stream joins the capture when it waits for an
	// event that was recorded in it. This stream must wait for the end of the
	// other's work in turn before enqueue returns.
	Capture(enqueue func() error) (Graph, error)

	Close() error
}

// Event is a place in a stream, and the time when the stream got there.
type Event interface {
	// Since returns the time from start to this event. Both must have been
	// recorded; it fails with ErrNotReady until their streams have got there.
	Since(start Event) (time.Duration, error)
	Close() error
}

// Graph is captured work, ready to be replayed any number of times. Its replays
// follow one another, also on different streams.
type Graph interface {
	Launch(s Stream) error
	Close() error
}
