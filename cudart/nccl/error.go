package nccl

import "gpurun/cudart/dl"

// Result is an ncclResult_t code. It is an error, so that callers can write
// errors.Is(err, nccl.ErrSystem).
type Result int32

// The results. Numbers and names are nccl.h's.
const (
	Success            Result = 0
	ErrUnhandledCUDA   Result = 1
	ErrSystem          Result = 2
	ErrInternal        Result = 3
	ErrInvalidArgument Result = 4
	ErrInvalidUsage    Result = 5
	ErrRemote          Result = 6
	ErrInProgress      Result = 7
	ErrTimeout         Result = 8
)

var names = map[Result]string{
	Success:            "ncclSuccess",
	ErrUnhandledCUDA:   "ncclUnhandledCudaError",
	ErrSystem:          "ncclSystemError",
	ErrInternal:        "ncclInternalError",
	ErrInvalidArgument: "ncclInvalidArgument",
	ErrInvalidUsage:    "ncclInvalidUsage",
	ErrRemote:          "ncclRemoteError",
	ErrInProgress:      "ncclInProgress",
	ErrTimeout:         "ncclTimeout",
}

// Error returns the code's name, or its number where gpurun has no name.
func (r Result) Error() string { return dl.CodeName(r, names, "ncclResult") }

// Advice says what to do about a code.
func (r Result) Advice() string {
	switch r {
	case ErrInProgress:
		return "gpurun calls NCCL blocking; unset NCCL_COMM_BLOCKING"
	case ErrRemote:
		return "another rank failed or left; its own message says why"
	case ErrSystem:
		return "often the network or /dev/shm; NCCL_DEBUG=INFO says more"
	}
	return "NCCL_DEBUG=INFO says more"
}

// Error is a failed NCCL call.
type Error = dl.CallError[Result]

// check turns what f returned into an error.
func (l *Library) check(f dl.Func, code int32) error { return dl.Check(f, Result(code), l.explain) }

// explain is NCCL's last message, or where a version or an error has none, its
// words for the code.
func (l *Library) explain(code Result) string {
	if l.fns.lastError.Found() {
		if text := dl.String(l.fns.lastError.Pointer(0)); text != "" {
			return text
		}
	}
	return dl.String(l.fns.errorString.Pointer(uintptr(code)))
}
