package cudart

import "fmt"

// Result is a CUresult code. It is an error, so that callers can write
// errors.Is(err, cudart.ErrOutOfMemory).
type Result int32

// The results that callers distinguish. Numbers and names are those of the
// CUDA driver API's CUresult; the simulator returns the same ones.
const (
	Success             Result = 0
	ErrInvalidValue     Result = 1
	ErrOutOfMemory      Result = 2
	ErrNotInitialized   Result = 3
	ErrStubLibrary      Result = 34
	ErrNoDevice         Result = 100
	ErrInvalidDevice    Result = 101
	ErrInvalidImage     Result = 200
	ErrInvalidContext   Result = 201
	ErrNoBinaryForGPU   Result = 209
	ErrInvalidPTX       Result = 218
	ErrUnsupportedPTX   Result = 222
	ErrInvalidHandle    Result = 400
	ErrNotFound         Result = 500
	ErrNotReady         Result = 600
	ErrIllegalAddress   Result = 700
	ErrPeerEnabled      Result = 704
	ErrIllegalInstr     Result = 715
	ErrMisaligned       Result = 716
	ErrLaunchFailed     Result = 719
	ErrCoopTooLarge     Result = 720
	ErrNotPermitted     Result = 800
	ErrNotSupported     Result = 801
	ErrSystemNotReady   Result = 802
	ErrSystemMismatch   Result = 803
	ErrCaptureForbidden Result = 900
	ErrCaptureMerge     Result = 902
	ErrCaptureUnjoined  Result = 904
	ErrCaptureIsolation Result = 905
	ErrCapturedEvent    Result = 907
	ErrInvalidCluster   Result = 912
)

var resultNames = map[Result]string{
	Success:             "CUDA_SUCCESS",
	ErrInvalidValue:     "CUDA_ERROR_INVALID_VALUE",
	ErrOutOfMemory:      "CUDA_ERROR_OUT_OF_MEMORY",
	ErrNotInitialized:   "CUDA_ERROR_NOT_INITIALIZED",
	ErrStubLibrary:      "CUDA_ERROR_STUB_LIBRARY",
	ErrNoDevice:         "CUDA_ERROR_NO_DEVICE",
	ErrInvalidDevice:    "CUDA_ERROR_INVALID_DEVICE",
	ErrInvalidImage:     "CUDA_ERROR_INVALID_IMAGE",
	ErrInvalidContext:   "CUDA_ERROR_INVALID_CONTEXT",
	ErrNoBinaryForGPU:   "CUDA_ERROR_NO_BINARY_FOR_GPU",
	ErrInvalidPTX:       "CUDA_ERROR_INVALID_PTX",
	ErrUnsupportedPTX:   "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	ErrInvalidHandle:    "CUDA_ERROR_INVALID_HANDLE",
	ErrNotFound:         "CUDA_ERROR_NOT_FOUND",
	ErrNotReady:         "CUDA_ERROR_NOT_READY",
	ErrIllegalAddress:   "CUDA_ERROR_ILLEGAL_ADDRESS",
	ErrPeerEnabled:      "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
	ErrIllegalInstr:     "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	ErrMisaligned:       "CUDA_ERROR_MISALIGNED_ADDRESS",
	ErrLaunchFailed:     "CUDA_ERROR_LAUNCH_FAILED",
	ErrCoopTooLarge:     "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
	ErrNotPermitted:     "CUDA_ERROR_NOT_PERMITTED",
	ErrNotSupported:     "CUDA_ERROR_NOT_SUPPORTED",
	ErrSystemNotReady:   "CUDA_ERROR_SYSTEM_NOT_READY",
	ErrSystemMismatch:   "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	ErrCaptureForbidden: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	ErrCaptureMerge:     "CUDA_ERROR_STREAM_CAPTURE_MERGE",
	ErrCaptureUnjoined:  "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
	ErrCaptureIsolation: "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
	ErrCapturedEvent:    "CUDA_ERROR_CAPTURED_EVENT",
	ErrInvalidCluster:   "CUDA_ERROR_INVALID_CLUSTER_SIZE",
}

// Error returns the code's name, or its number where gpurun has no name.
func (r Result) Error() string {
	if name, ok := resultNames[r]; ok {
		return name
	}
	return fmt.Sprintf("CUresult %d", int32(r))
}

// Error is a failed device operation.
type Error struct {
	Op   string // what was called, such as "cuMemAlloc_v2"
	Code Result
	// Detail says more where the backend knows more: a JIT log, the faulting
	// instruction, or what to do. It may be empty.
	Detail string
}

// Error reads "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): detail".
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", e.Op, e.Code.Error(), int32(e.Code))
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap makes errors.Is(err, ErrOutOfMemory) work.
func (e *Error) Unwrap() error { return e.Code }
