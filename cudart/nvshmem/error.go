package nvshmem

import "gpurun/cudart/dl"

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

var names = map[Status]string{
	Success:             "NVSHMEMX_SUCCESS",
	ErrInvalidValue:     "NVSHMEMX_ERROR_INVALID_VALUE",
	ErrOutOfMemory:      "NVSHMEMX_ERROR_OUT_OF_MEMORY",
	ErrNotSupported:     "NVSHMEMX_ERROR_NOT_SUPPORTED",
	ErrSymmetry:         "NVSHMEMX_ERROR_SYMMETRY",
	ErrGPUNotSelected:   "NVSHMEMX_ERROR_GPU_NOT_SELECTED",
	ErrCollectiveLaunch: "NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED",
	ErrInternal:         "NVSHMEMX_ERROR_INTERNAL",
}

// Error returns the code's name, or its number where gpurun has no name.
func (s Status) Error() string { return dl.CodeName(s, names, "NVSHMEM status") }

// Advice says what to do about a code.
func (s Status) Advice() string { return "NVSHMEM_DEBUG=INFO says more" }

// Error is a failed NVSHMEM call.
type Error = dl.CallError[Status]

func check(f dl.Func, code int32) error { return dl.Check(f, Status(code), nil) }
