// Package cudart defines the interfaces of a device: memory, modules, streams, events and graphs.
//
// Two backends implement them: cudart/driver calls libcuda.so.1, cudart/sim runs the same PTX on the
// CPU. Only cmd/gpurun chooses one.
//
// Sizes are in bytes. The caller closes, frees or unloads what a device hands out; [Device.Close]
// releases what is left. A failed operation returns an [*Error], as a rule wrapped, so that errors.Is
// finds its [Result]. After a fault of a kernel the device is unusable, as with CUDA's sticky errors:
// later launches, copies and allocations fail with the code of that fault.
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

// SimulatorName is the model of simulated devices, as [Info] names it.
const SimulatorName = "gpurun simulator"

// Backend finds and opens devices.
type Backend interface {
	// Name is "cuda" or "sim".
	Name() string
	// Devices lists the visible devices without opening one. It is cheap enough for the launcher to call
	// before it starts a worker. The error is ErrNoDevice where there are none.
	Devices() ([]Info, error)
	// Init initializes the backend in this process, which takes up to seconds on GPUs. Open calls it if
	// need be. It may be called again.
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
	// and with undefined contents. The caller frees it. The error is ErrInvalidValue for sizes below 1,
	// and ErrOutOfMemory.
	Malloc(bytes int64) (DevicePtr, error)
	// Free frees what Malloc returned, when all work that uses it is complete. Any other address but 0
	// is ErrInvalidValue.
	Free(ptr DevicePtr) error

	// MallocHost allocates zeroed host memory that kernels can also read and
	// write while they run. The caller frees the buffer.
	MallocHost(bytes int64) (HostBuffer, error)

	// EncodeTensorMap encodes m for cp.async.bulk.tensor. The caller passes the bytes among a kernel's
	// parameters, at a multiple of TensorMapAlign, and the kernel takes their generic address. A kernel that
	// reads them from device memory needs a fence.proxy.tensormap first. Only the device that encoded a
	// map can use it. It needs compute capability 9.0: else ErrNotSupported.
	EncodeTensorMap(m TensorMap) ([TensorMapBytes]byte, error)

	// LoadModule loads PTX text, or on a GPU a cubin or fatbin. The name appears in errors, which are ErrInvalidPTX,
	// ErrUnsupportedPTX or ErrNoBinaryForGPU where the text is at fault. A driver compiles all kernels; the
	// simulator compiles each when Module.Kernel finds it. The caller unloads the module.
	LoadModule(name string, ptx []byte) (Module, error)

	// NewStream makes a stream that waits for no other stream. The caller closes it.
	NewStream(options ...StreamOption) (Stream, error)
	// NewEvent makes an event that has not been recorded. The caller closes it.
	NewEvent() (Event, error)

	// Close releases everything that the device still owns. A second Close does nothing.
	Close() error
}

// HostBuffer is host memory that the device can address.
type HostBuffer interface {
	// Bytes is the host's view. It is invalid after Free.
	Bytes() []byte
	// DevicePtr is the device's view of the same memory.
	DevicePtr() DevicePtr
	// Free frees the memory, when all work that uses it is complete.
	Free() error
}

// Module is loaded PTX.
type Module interface {
	// Kernel finds an entry point by its name in the PTX. The error is ErrNotFound where there is none, and
	// ErrInvalidPTX where the simulator lacks something that the kernel needs.
	Kernel(entry string) (Kernel, error)
	// Global finds a .global or .const variable by its name in the PTX: its address, and its size in bytes.
	// The error is ErrNotFound where there is none. The variable lives as long as the module.
	Global(name string) (DevicePtr, int64, error)
	// Unload ends the use of the module and its kernels, when all launches of them are complete.
	Unload() error
}

// Kernel is an entry point of a loaded module. It is valid until the module
// is unloaded.
type Kernel interface {
	Name() string
}

// StreamOption is a property of a new stream.
type StreamOption uint8

// HighPriority asks for the highest priority of the device: work of the stream
// goes before that of others where both could begin. It is a hint.
const HighPriority StreamOption = 1

// Stream is an ordered queue of device work. Work of two streams runs at once,
// in any order, except for what [Stream.Wait] says.
type Stream interface {
	// Launch enqueues a kernel. The bytes of params are those of all its parameters, each at a multiple
	// of its alignment, as in a C struct. They are copied before Launch returns.
	Launch(k Kernel, shape Launch, params []byte) error
	// Prepare prepares the stream for launches of a kernel that are ShortRunning. As when a module is
	// loaded, the device may wait for running kernels. In a capture it fails with ErrCaptureForbidden.
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
	// WaitValue delays work that is enqueued from now on until the 32-bit word at addr, a multiple of 4,
	// has reached a value: until their difference, as a signed number, is not negative, so that counts
	// may wrap around. The wait acquires: writes that were visible to the system before the word was
	// written are visible after it. The wait has no bound: a caller that waits for a peer must make sure
	// that the word is written even if the peer never comes.
	WaitValue(addr DevicePtr, value uint32) error
	// Record enqueues a time stamp. In a capture the event only marks the place for Wait, and has no
	// time.
	Record(e Event) error
	// Wait delays work that is enqueued from now on until the stream in which e was last recorded has
	// reached that place. An event that was never recorded is not waited for.
	Wait(e Event) error

	// Upload and Download wait for the work enqueued so far, copy, and return
	// when the copy is complete. They cannot be captured.
	Upload(dst DevicePtr, src []byte) error
	Download(dst []byte, src DevicePtr) error

	// Synchronize waits until all enqueued work is done and returns its
	// first error. When ctx ends first, it returns ctx's error and the work
	// continues.
	Synchronize(ctx context.Context) error

	// Capture calls enqueue and records what it enqueues on this stream
	// instead of running it. Another stream joins the capture when it waits for an
	// event that was recorded in it. Before enqueue returns, this stream must wait for the end of the
	// other stream's work. The caller closes the graph.
	Capture(enqueue func() error) (Graph, error)

	Close() error
}

// Event is a place in a stream, and the time when the stream reached it.
type Event interface {
	// Since returns the time from start to this event. Both must have been
	// recorded; the error is ErrNotReady until their streams have reached them.
	Since(start Event) (time.Duration, error)
	Close() error
}

// Graph is captured work, ready to be replayed any number of times. Its replays
// follow one another, also on different streams.
type Graph interface {
	Launch(s Stream) error
	Close() error
}
