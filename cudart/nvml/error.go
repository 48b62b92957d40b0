package nvml

import "gpurun/cudart/dl"

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

var names = map[Return]string{
	Success:            "NVML_SUCCESS",
	ErrUninitialized:   "NVML_ERROR_UNINITIALIZED",
	ErrInvalidArgument: "NVML_ERROR_INVALID_ARGUMENT",
	ErrNotSupported:    "NVML_ERROR_NOT_SUPPORTED",
	ErrNoPermission:    "NVML_ERROR_NO_PERMISSION",
	ErrNotFound:        "NVML_ERROR_NOT_FOUND",
	ErrTooSmall:        "NVML_ERROR_INSUFFICIENT_SIZE",
	ErrDriverNotLoaded: "NVML_ERROR_DRIVER_NOT_LOADED",
	ErrTimeout:         "NVML_ERROR_TIMEOUT",
	ErrNoFunction:      "NVML_ERROR_FUNCTION_NOT_FOUND",
	ErrVersion:         "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
	ErrGPUIsLost:       "NVML_ERROR_GPU_IS_LOST",
	ErrResetRequired:   "NVML_ERROR_RESET_REQUIRED",
	ErrLibRMMismatch:   "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
	ErrUnknown:         "NVML_ERROR_UNKNOWN",
}

// Error returns the code's name, or its number where gpurun has no name.
func (r Return) Error() string { return dl.CodeName(r, names, "nvmlReturn") }

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
type Error = dl.CallError[Return]

func check(f dl.Func, code int32) error { return dl.Check(f, Return(code), nil) }
