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

// Error is a failed NVSHMEM call.
type Error struct {
	Op   string // what was called, such as "nvshmemx_hostlib_init_attr"
	Code Status
}

// Error reads "nvshmemx_get_uniqueid: NVSHMEMX_ERROR_INTERNAL (7); what to do".
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (%d); NVSHMEM_DEBUG=INFO says more", e.Op, e.Code.Error(), int32(e.Code))
}

// Unwrap makes errors.Is(err, ErrOutOfMemory) work.
func (e *Error) Unwrap() error { return e.Code }

func check(f dl.Func, code int32) error {
	if Status(code) == Success {
		return nil
	}
	return &Error{Op: f.Name(), Code: Status(code)}
}
