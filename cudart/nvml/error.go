package nvml

import (
	"fmt"

	"gpurun/cudart/dl"
)

// Return is an nvmlReturn_t code. It is an error, so that callers can write
// errors.Is(err, nvml.ErrDriverNotLoaded).
type Return int32

// The codes that a caller can act on. Numbers and names are nvml.h's.
const (
	Success            Return = 0
	ErrUninitialized   Return = 1
	ErrInvalidArgument Return = 2
	ErrNotSupported    Return = 3
	ErrNoPermission    Return = 4
	ErrNotFound        Return = 6
	ErrTooSmall        Return = 7
	ErrDriverNotLoaded Return = 9
	ErrTimeout         Return = 10
	ErrNoFunction      Return = 13
	ErrGPUIsLost       Return = 15
	ErrResetRequired   Return = 16
	ErrLibRMMismatch   Return = 18
	ErrVersion         Return = 25
	ErrUnknown         Return = 999
)

// Error returns the code's name, or its number where gpurun has no name.
func (r Return) Error() string {
	switch r {
	case Success:
		return "NVML_SUCCESS"
	case ErrUninitialized:
		return "NVML_ERROR_UNINITIALIZED"
	case ErrInvalidArgument:
		return "NVML_ERROR_INVALID_ARGUMENT"
	case ErrNotSupported:
		return "NVML_ERROR_NOT_SUPPORTED"
	case ErrNoPermission:
		return "NVML_ERROR_NO_PERMISSION"
	case ErrNotFound:
		return "NVML_ERROR_NOT_FOUND"
	case ErrTooSmall:
		return "NVML_ERROR_INSUFFICIENT_SIZE"
	case ErrDriverNotLoaded:
		return "NVML_ERROR_DRIVER_NOT_LOADED"
	case ErrTimeout:
		return "NVML_ERROR_TIMEOUT"
	case ErrNoFunction:
		return "NVML_ERROR_FUNCTION_NOT_FOUND"
	case ErrVersion:
		return "NVML_ERROR_ARGUMENT_VERSION_MISMATCH"
	case ErrGPUIsLost:
		return "NVML_ERROR_GPU_IS_LOST"
	case ErrResetRequired:
		return "NVML_ERROR_RESET_REQUIRED"
	case ErrLibRMMismatch:
		return "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
	case ErrUnknown:
		return "NVML_ERROR_UNKNOWN"
	}
	return fmt.Sprintf("nvmlReturn %d", int32(r))
}

// Advice says what to do about a code.
func (r Return) Advice() string {
	switch r {
	case ErrDriverNotLoaded:
		return "the NVIDIA kernel driver is not loaded; load it, or give the container its GPUs"
	case ErrNoPermission:
		return "this user may not open /dev/nvidiactl"
	case ErrGPUIsLost:
		return "a GPU has fallen off the bus; see the kernel log"
	case ErrResetRequired:
		return "end all programs that use the GPU and reset it: nvidia-smi -r"
	case ErrLibRMMismatch:
		return "the library and the loaded kernel driver have different versions; reboot after a driver update, " +
			"or start the container with the host's libraries"
	}
	return ""
}

// Error is a failed NVML call.
type Error = dl.Failure[Return]

func check(f dl.Func, code int32) error { return dl.Check(f, Return(code), nil) }
