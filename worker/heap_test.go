package worker

import (
	"slices"
	"sync"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/worker/library"
	"gpurun/worker/result"
	"gpurun/worker/verify"
)

// fakeHeap is a library with a symmetric heap, which is memory of the rank's device.
type fakeHeap struct {
	*fakeNCCL
	device   *heapDevice
	enqueued func()
}

func (f *fakeHeap) HasHeap() bool { return true }

func (f *fakeHeap) Heap(int64, bool) (symm.NVSHMEM, error) { return f, nil }

func (f *fakeHeap) Init(rank, _ int, _ [128]byte, _ int) error { f.rank = rank; return nil }

func (f *fakeHeap) Malloc(bytes int64) (cudart.DevicePtr, error) { return f.device.Malloc(bytes) }

func (f *fakeHeap) Ptr(ptr cudart.DevicePtr, _ int) cudart.DevicePtr { return ptr }

func (f *fakeHeap) MulticastPtr(cudart.DevicePtr) cudart.DevicePtr { return 0 }

func (f *fakeHeap) Free(ptr cudart.DevicePtr) error { return f.device.Free(ptr) }

func (f *fakeHeap) Finalize() error { return nil }

func (f *fakeHeap) Enqueue(s cudart.Stream, call collective.LibraryCall) error {
	f.enqueued()
	return f.fakeNCCL.Enqueue(s, call)
}

// heapDevice hides that a simulated device shares memory in a way of its own, and
// calls fill before its streams poison memory.
type heapDevice struct {
	cudart.Device
	fill func()
}

type heapBackend struct {
	cudart.Backend
	device *heapDevice
}

func (b heapBackend) Open(ordinal int) (cudart.Device, error) {
	var err error
	b.device.Device, err = b.Backend.Open(ordinal)
	return b.device, err
}

func (d *heapDevice) NewStream(o ...cudart.StreamOption) (cudart.Stream, error) {
	s, err := d.Device.NewStream(o...)
	return heapStream{s, d.fill}, err
}

type heapStream struct {
	cudart.Stream
	fill func()
}

func (s heapStream) Fill(dst cudart.DevicePtr, value byte, bytes int64) error {
	if value == verify.Poison {
		s.fill()
	}
	return s.Stream.Fill(dst, value, bytes)
}

// A library that writes into its peers' memory must not do so before they have
// prepared it.
func TestHeapIsPreparedBeforeItIsWritten(t *testing.T) {
	var mu sync.Mutex
	prepared := false // on rank 1
	early := make(chan struct{})
	var once sync.Once
	shared := newTable(2)
	devices := []*heapDevice{{fill: func() {}}, {}}
	devices[1].fill = func() {
		select { // gives rank 0 time to be wrong
		case <-early:
		case <-time.After(50 * time.Millisecond):
		}
		mu.Lock()
		defer mu.Unlock()
		prepared = true
	}
	g := ranks{
		world: 2,
		backend: func(rank int) cudart.Backend {
			return heapBackend{sim.New(2, sim.Options{}), devices[rank]}
		},
		libraries: func(rank int) map[string]library.Open {
			f := &fakeHeap{&fakeNCCL{table: shared, title: "NVSHMEM 3.99.1"}, devices[rank], func() {}}
			if rank == 0 {
				f.enqueued = func() {
					mu.Lock()
					defer mu.Unlock()
					if !prepared {
						once.Do(func() { close(early) })
					}
				}
			}
			return map[string]library.Open{"nvshmem": func(string) (library.Library, error) { return f, nil }}
		},
	}
	job := ncclJob("nvshmem")
	job.Sizes = []int64{4096}
	results := g.mustRun(t, job)
	if slices.ContainsFunc(results, func(r result.Result) bool { return *r.Wrong != 0 }) {
		t.Errorf("wrong results: %v", results)
	}
	select {
	case <-early:
		t.Error("rank 0 enqueued its call before rank 1 had prepared its buffers")
	default:
	}
}
