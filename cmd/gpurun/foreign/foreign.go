// Package foreign makes NCCL, NVSHMEM and cuBLAS do what gpurun's own kernels do: it
// puts their calls behind [worker.Library] and [matmul.BLAS].
package foreign

import (
	"gpurun/kernels/libraries"
	"gpurun/worker"
)

// Libraries is what opens each library, by the name of its algorithms. Nothing is opened yet.
func Libraries() map[string]worker.OpenLibrary {
	return map[string]worker.OpenLibrary{
		libraries.NCCLName:    openNCCL,
		libraries.NVSHMEMName: openNVSHMEM,
		libraries.CUBLASName:  openCUBLAS,
	}
}
