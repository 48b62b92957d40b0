package cublas

import "gpurun/cudart/dl"

// Status is a cublasStatus_t. It is an error, so that callers can write
// errors.Is(err, cublas.ErrNotSupported).
type Status int32

// The statuses. Numbers and names are cublas_api.h's.
const (
	Success            Status = 0
	ErrNotInitialized  Status = 1
	ErrAllocFailed     Status = 3
	ErrInvalidValue    Status = 7
	ErrArchMismatch    Status = 8
	ErrMapping         Status = 11
	ErrExecutionFailed Status = 13
	ErrInternal        Status = 14
	ErrNotSupported    Status = 15
	ErrLicense         Status = 16
)

var names = map[Status]string{
	Success:            "CUBLAS_STATUS_SUCCESS",
	ErrNotInitialized:  "CUBLAS_STATUS_NOT_INITIALIZED",
	ErrAllocFailed:     "CUBLAS_STATUS_ALLOC_FAILED",
	ErrInvalidValue:    "CUBLAS_STATUS_INVALID_VALUE",
	ErrArchMismatch:    "CUBLAS_STATUS_ARCH_MISMATCH",
	ErrMapping:         "CUBLAS_STATUS_MAPPING_ERROR",
	ErrExecutionFailed: "CUBLAS_STATUS_EXECUTION_FAILED",
	ErrInternal:        "CUBLAS_STATUS_INTERNAL_ERROR",
	ErrNotSupported:    "CUBLAS_STATUS_NOT_SUPPORTED",
	ErrLicense:         "CUBLAS_STATUS_LICENSE_ERROR",
}

// Error returns the code's name, or its number where gpurun has no name.
func (s Status) Error() string { return dl.CodeName(s, names, "cublasStatus") }

// Advice says what to do about a status.
func (s Status) Advice() string {
	switch s {
	case ErrNotInitialized, ErrArchMismatch:
		return "the driver or the GPU may be too old for this cuBLAS; give --cublas-lib one of an older CUDA"
	case ErrAllocFailed:
		return "free memory on the GPU, or multiply smaller matrices"
	}
	return "CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=stderr says more"
}

// Error is a failed cuBLAS call.
type Error = dl.CallError[Status]

// check turns what f returned into an error.
func (l *Library) check(f dl.Func, code int32) error { return dl.Check(f, Status(code), l.explain) }

// explain is cuBLAS's own words for a status, or nothing.
func (l *Library) explain(s Status) string {
	if !l.fns.statusString.Found() {
		return ""
	}
	return dl.String(l.fns.statusString.Pointer(uintptr(s)))
}
