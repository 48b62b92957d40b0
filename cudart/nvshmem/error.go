package nvshmem

import (
	"fmt"

	"gpurun/cudart/dl"
)

// Status is a code of nvshmemx_error.h. It is an error, so that callers can
// write errors.Is(err, nvshmem.ErrOutOfMemory).
type Status int32

// The codes. Numbers and names are nvshmemx_error.h's.
const (
	Success             Status = 0
	ErrInvalidValue     Status = 1
	ErrOutOfMemory      Status = 2
	ErrNotSupported     Status = 3
	ErrSymmetry         Status = 4
	ErrGPUNotSelected   Status = 5
	ErrCollectiveLaunch Status = 6
	ErrInternal         Status = 7
)

// Error returns the code's name, or its number where gpurun has no name.
func (s Status) Error() string {
	switch s {
	case Success:
		return "NVSHMEMX_SUCCESS"
	case ErrInvalidValue:
		return "NVSHMEMX_ERROR_INVALID_VALUE"
	case ErrOutOfMemory:
		return "NVSHMEMX_ERROR_OUT_OF_MEMORY"
	case ErrNotSupported:
		return "NVSHMEMX_ERROR_NOT_SUPPORTED"
	case ErrSymmetry:
		return "NVSHMEMX_ERROR_SYMMETRY"
	case ErrGPUNotSelected:
		return "NVSHMEMX_ERROR_GPU_NOT_SELECTED"
	case ErrCollectiveLaunch:
		return "NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED"
	case ErrInternal:
		return "NVSHMEMX_ERROR_INTERNAL"
	}
	return fmt.Sprintf("NVSHMEM status %d", int32(s))
}

// Advice says what to do about a code.
func (s Status) Advice() string { return "NVSHMEM_DEBUG=INFO says more" }

// Error is a failed NVSHMEM call.
type Error = dl.Failure[Status]

func check(f dl.Func, code int32) error { return dl.Check(f, Status(code), nil) }
