// Met with programmatic dependent launch, as in tokenspeed's pull request 351 (2026): a kernel begins while the one before
// it in the stream still runs, and reads what that one stores without waiting for it.
//
// Mended: griddepcontrol.wait before the first access.
#include "sum.cuh"

// The first launch makes what peers will load.
extern "C" __global__ void stage(float* const* staged, const float* input, int count, unsigned rank) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) staged[rank][i] = input[i];
}

extern "C" __global__ void early_grid(float* output, const float* const* staged, unsigned* const* flags, int count,
                                      unsigned rank, unsigned world, unsigned call) {
#ifdef MENDED
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  barrier(flags, rank, world, 2 * call + 1);
  sum_inputs(output, staged, count, world);
  barrier(flags, rank, world, 2 * call + 2);
}
