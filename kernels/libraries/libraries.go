// Package libraries lists the collectives of external libraries as algorithms, which are verified
// and timed in the same run as gpurun's own. NCCL has every collective except the barrier; NVSHMEM
// has some. For products by cuBLAS see kernels/matmul.
//
// The libraries do not use gpurun's kernels. Between machines they choose the network themselves.
package libraries

import "gpurun/kernels/collective"

// The libraries, by the names of their algorithms.
const (
	NCCLName          = "nccl"
	NCCLSymmetricName = "nccl_symmetric"
	NVSHMEMName       = "nvshmem"
	CUBLASName        = "cublas"
)

// NCCL is a collective of that shape by libnccl.so.2. It has all of gpurun's types and operations.
// Types that an older version lacks are refused once the library is open.
func NCCL(of string, shape collective.Shape) *collective.Algorithm {
	return collective.FromLibrary(of, shape, NCCLName, "NVIDIA's NCCL, to measure against and to reach across machines",
		collective.Ops, everyType)
}

// NCCLSymmetric is a collective of that shape by libnccl.so.2, on memory that is registered with
// NCCL on all ranks. It is for the [NCCLSymmetricCollectives], and among their reductions for sums
// of floats of up to 32 bits: NCCL 2.27 to 2.30 have symmetric kernels for these, and take the
// kernels of [NCCL] for others. The ranks map each other's memory.
func NCCLSymmetric(of string, shape collective.Shape) *collective.Algorithm {
	a := collective.FromLibrary(of, shape, NCCLSymmetricName, "NVIDIA's NCCL, on memory that is registered on all ranks",
		func() []collective.Op { return []collective.Op{collective.Sum} }, isShortFloat)
	a.Needs.Peers = true
	return a
}

// NCCLSymmetricCollectives are the collectives that NCCL has symmetric kernels for.
func NCCLSymmetricCollectives() []string { return []string{"allreduce", "allgather", "reducescatter"} }

func isShortFloat(d collective.DType) bool {
	return d.Kind == collective.FloatingPoint && d.Size <= collective.Float.Size
}

// NVSHMEM is a collective of that shape by the calls of libnvshmem_host.so.3
// that work on a stream. Buffers must be in NVSHMEM's symmetric heap, at the same offset on all
// ranks. No call runs in place. NVSHMEM documents this for reductions only, and up to version 3.4.5
// in-place reductions of more than a segment of its scratch are wrong on three and more ranks: the
// second peer gets data that is already combined with the first peer's.
func NVSHMEM(of string, shape collective.Shape) *collective.Algorithm {
	a := collective.FromLibrary(of, shape, NVSHMEMName, "NVIDIA's NVSHMEM, on its own symmetric heap", reductions,
		hasReductions)
	a.Needs.SeparateOutput = !shape.Empty
	return a
}

// reductions are NVSHMEM's operations: it has no average.
func reductions() []collective.Op {
	return []collective.Op{collective.Sum, collective.Prod, collective.Min, collective.Max}
}

// hasReductions leaves out 8-bit floats, which NVSHMEM only moves.
func hasReductions(d collective.DType) bool {
	return d.Kind != collective.FloatingPoint || d.Size > 1
}

func everyType(collective.DType) bool { return true }

// Requirement names the library that the algorithms of a name need, with the version if that is later than
// the oldest one that gpurun opens.
func Requirement(name string) string {
	if name == NCCLSymmetricName {
		return NCCLName + " 2.27"
	}
	return name
}

// MinSM is the least compute capability, 10*major+minor, on which a library combines
// elements of a type; 0 is any. NCCL has no reductions of 8-bit floats before 9.0;
// elements that are only moved, by [collective.None], are bytes to it.
func MinSM(library string, d collective.DType, op collective.Op) int {
	isNCCL := library == NCCLName || library == NCCLSymmetricName
	if isNCCL && op != collective.None && d.Kind == collective.FloatingPoint && d.Size == 1 {
		return 90
	}
	return 0
}
