package matmul

import (
	"errors"

	"gpurun/cudart"
)

// BLAS is a foreign library that multiplies matrices on one device, such as cuBLAS.
type BLAS interface {
	// Prepare prepares products on the device. It may allocate memory and wait; a call after the first does nothing.
	Prepare(d cudart.Device) error
	// Multiply enqueues C = A x B of local matrices, in the layout of this package. It neither waits nor allocates, so
	// that the stream can be captured.
	Multiply(s cudart.Stream, p Problem, a, b, c cudart.DevicePtr) error
}

var errNoBLAS = errors.New("multiplying by a library: none is open")
