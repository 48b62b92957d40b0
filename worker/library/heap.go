package library

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/worker/workload"
)

// Heap prepares the symmetric heap of a library, with room for so many bytes.
func (s *Set) Heap(name string, bytes int64, oneMachine bool) (symm.NVSHMEM, error) {
	l, ok := s.open[name]
	if !ok || s.missing[name] != "" {
		return nil, &workload.Unavailable{Reason: fmt.Sprintf("memory cannot be shared by %s: %s", name, s.missing[name])}
	}
	heap, err := l.Heap(bytes, oneMachine)
	if err != nil {
		return nil, &Error{l.Title(), err}
	}
	return supervisedHeap{heap, s, l.Title()}, nil
}

// supervisedHeap is a library's symmetric heap whose collective calls are supervised.
type supervisedHeap struct {
	symm.NVSHMEM
	set   *Set
	title string
}

func (h supervisedHeap) Init(rank, world int, id [128]byte, device int) error {
	return h.set.supervise("initializing "+h.title, func() error { return h.NVSHMEM.Init(rank, world, id, device) })
}

func (h supervisedHeap) Malloc(bytes int64) (ptr cudart.DevicePtr, err error) {
	err = h.set.supervise("allocating memory of "+h.title, func() error {
		ptr, err = h.NVSHMEM.Malloc(bytes)
		return err
	})
	return ptr, err
}

func (h supervisedHeap) Free(ptr cudart.DevicePtr) error {
	return h.set.supervise("freeing memory of "+h.title, func() error { return h.NVSHMEM.Free(ptr) })
}

func (h supervisedHeap) Finalize() error {
	return h.set.supervise("finalizing "+h.title, h.NVSHMEM.Finalize)
}
