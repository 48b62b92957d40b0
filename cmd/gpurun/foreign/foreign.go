// Package foreign makes NCCL, NVSHMEM and cuBLAS do what gpurun's own kernels do: it
// puts their calls behind [library.Library] and [matmul.BLAS].
package foreign

import (
	"gpurun/kernels/libraries"
	"gpurun/worker/library"
)

// Libraries is what opens each library, by the name of its algorithms. Nothing is opened yet.
func Libraries() map[string]library.Open {
	return map[string]library.Open{
		libraries.NCCLName:          openNCCL,
		libraries.NCCLSymmetricName: openNCCLSymmetric,
		libraries.NVSHMEMName:       openNVSHMEM,
		libraries.CUBLASName:        openCUBLAS,
	}
}
