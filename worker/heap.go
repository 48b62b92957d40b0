package worker

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/worker/workload"
)

// heap prepares the symmetric heap of a library, for so many bytes. The library is open if the
// job's memory is to come from it.
func (r *rank) heap(library string, bytes int64) (symm.NVSHMEM, error) {
	l, ok := r.libraries[library]
	if !ok || r.caps.Missing[library] != "" {
		return nil, &workload.Unavailable{Reason: fmt.Sprintf("memory cannot be shared by %s: %s", library, r.caps.Missing[library])}
	}
	own, err := l.Heap(bytes, !r.Job.SpansMachines())
	if err != nil {
		return nil, &LibraryError{l.Title(), err}
	}
	return supervisedHeap{own, r, l.Title()}, nil
}

// supervisedHeap is a library's symmetric heap whose collective calls are supervised.
type supervisedHeap struct {
	symm.NVSHMEM
	r     *rank
	title string
}

func (h supervisedHeap) Init(rank, world int, id [128]byte, device int) error {
	return h.r.supervised("initializing "+h.title, func() error { return h.NVSHMEM.Init(rank, world, id, device) })
}

func (h supervisedHeap) Malloc(bytes int64) (ptr cudart.DevicePtr, err error) {
	err = h.r.supervised("allocating memory of "+h.title, func() error {
		ptr, err = h.NVSHMEM.Malloc(bytes)
		return err
	})
	return ptr, err
}

func (h supervisedHeap) Free(ptr cudart.DevicePtr) error {
	return h.r.supervised("freeing memory of "+h.title, func() error { return h.NVSHMEM.Free(ptr) })
}

func (h supervisedHeap) Finalize() error {
	return h.r.supervised("finalizing "+h.title, h.NVSHMEM.Finalize)
}
