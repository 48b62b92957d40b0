// Package library has the external libraries that are open on a rank, such as NCCL: the
// ranks agree on which they have, meet in them, and leave them together. A watchdog
// supervises their calls, which may wait for peers and cannot be interrupted.
package library

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
)

// Library is an external library that is open on this rank, such as NCCL. Its
// methods are called from the rank's main goroutine.
type Library interface {
	collective.Library
	// Title is the name and the version, such as "NCCL 2.28.9".
	Title() string
	// NewUniqueID makes the id by which the ranks find each other. It is made by
	// rank 0, which has to live until all have joined.
	NewUniqueID() ([128]byte, error)
	// Join meets the other ranks, and Leave parts from them: both may wait for
	// them. A library that has a heap joins and leaves with that.
	Join(rank, world int, id [128]byte) error
	Leave() error
	// Abort ends what is under way and frees the library without the others.
	Abort() error
	// Err is the asynchronous error of earlier work, or nil.
	Err() error
	// HasHeap reports whether buffers have to lie in the library's own symmetric
	// memory. Heap prepares one with room for so many bytes.
	HasHeap() bool
	Heap(bytes int64, oneMachine bool) (symm.NVSHMEM, error)
}

// Registrar is a [Library] that works on memory which is registered with it.
type Registrar interface {
	// Register registers this rank's memory, which is as large on every rank. All ranks call
	// it, after Join and before the first call of a collective, and it waits for them. Leave
	// and Abort end that.
	Register(at cudart.DevicePtr, bytes int64) error
}

// Open opens a library from a file; an empty path is to be searched for.
type Open func(path string) (Library, error)

// Error is a failure of an external library.
type Error struct {
	Title string
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Title, e.Err) }

// Unwrap returns the library's own error.
func (e *Error) Unwrap() error { return e.Err }
