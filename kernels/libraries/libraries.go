// Package libraries lists what the external libraries do as algorithms beside
// gpurun's own, to be verified and timed in the same run: NCCL for every collective
// but the barrier, NVSHMEM for those that it has. cuBLAS multiplies: see
// kernels/matmul.
//
// They need no peer access that gpurun arranges and no kernels of gpurun's, and
// reach across machines over whatever network they find.
package libraries

import "gpurun/kernels/collective"

// The libraries, by the names of their algorithms.
const (
	NCCLName    = "nccl"
	NVSHMEMName = "nvshmem"
	CUBLASName  = "cublas"
)

// NCCL is a collective of that shape by libnccl.so.2. It takes all types and
// operations that gpurun has; what an older version lacks is refused when the
// library is open.
func NCCL(of string, shape collective.Shape) *collective.Algorithm {
	return collective.FromLibrary(of, shape, NCCLName, "NVIDIA's NCCL, to measure against and to reach across machines",
		collective.Ops, everyType)
}

// NVSHMEM is a collective of that shape by the calls of libnvshmem_host.so.3
// that work on a stream. Buffers must lie in NVSHMEM's symmetric heap, at the same
// place on all ranks. Nothing runs in place: only reductions are documented to, and
// up to version 3.4.5 those of more than a segment of NVSHMEM's scratch are wrong on
// three ranks and more, because the second peer is sent what the first has been
// combined with.
func NVSHMEM(of string, shape collective.Shape) *collective.Algorithm {
	a := collective.FromLibrary(of, shape, NVSHMEMName, "NVIDIA's NVSHMEM, on its own symmetric heap", reductions,
		hasReductions)
	a.Needs.SeparateOutput = !shape.Empty
	return a
}

// reductions are those that NVSHMEM has: an average it has not.
func reductions() []collective.Op {
	return []collective.Op{collective.Sum, collective.Prod, collective.Min, collective.Max}
}

// hasReductions leaves out 8-bit floats, which NVSHMEM only moves.
func hasReductions(d collective.DType) bool {
	return d.Kind != collective.FloatingPoint || d.Size > 1
}

func everyType(collective.DType) bool { return true }

// MinSM is the least compute capability, 10*major+minor, on which a library combines
// elements of a type; 0 is any. NCCL has no reductions of 8-bit floats before 9.0;
// elements that are only moved, by [collective.None], are bytes to it.
func MinSM(library string, d collective.DType, op collective.Op) int {
	if library == NCCLName && op != collective.None && d.Kind == collective.FloatingPoint && d.Size == 1 {
		return 90
	}
	return 0
}
