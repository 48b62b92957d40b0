// Package foreign makes NCCL, NVSHMEM and cuBLAS do what gpurun's own kernels do: it
// puts their calls behind [library.Library] and [matmul.BLAS].
package foreign

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/libraries"
	"gpurun/worker/library"
)

// Libraries is what opens each library, by the name of its algorithms. Nothing is opened yet.
func Libraries() map[string]library.Open {
	return map[string]library.Open{
		libraries.NCCLName:    openNCCL,
		libraries.NVSHMEMName: openNVSHMEM,
		libraries.CUBLASName:  openCUBLAS,
	}
}

// handleOf is the CUstream that a library enqueues on.
func handleOf(s cudart.Stream) (uintptr, error) {
	h, ok := s.(interface{ Handle() uintptr })
	if !ok {
		return 0, fmt.Errorf("a %T is no stream of the CUDA driver", s)
	}
	return h.Handle(), nil
}

// unknown is a call that the library has no name for.
func unknown(library, what string) error {
	return fmt.Errorf("%s has no collective for %s", library, what)
}
