// Found in PyTorch's symmetric memory for NVSHMEM, pull request 196546, and in NVSHMEM's benchmarks, pull request 98
// (2026): each rank clears its flags after the ranks have met. A fast peer's signal comes before, and the clearing erases
// it.
//
// The kernel is right; the order of the steps is wrong in late_zero.toml. Mended there: a barrier behind the clearing.
#include "sum.cuh"

// Flags are zero before a call.
extern "C" __global__ void late_zero(float* output, const float* const* inputs, unsigned* const* flags, int count,
                                     unsigned rank, unsigned world) {
  barrier(flags, rank, world, 1);
  sum_inputs(output, inputs, count, world);
  barrier(flags, rank, world, 2);
}
