// Found by gpurun in a public collection of fused kernels (2026): one thread tells the peers that the block's tile is
// there, while other threads of the block still store it.
//
// Mended: the block's barrier is before the flag.
#include "sum.cuh"

extern "C" __global__ void early_signal(float* output, const float* input, float* const* staged, unsigned* const* flags,
                                        int count, unsigned rank, unsigned world, unsigned call) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) staged[rank][i] = input[i];
#ifdef MENDED
  __syncthreads();
#endif
  if (threadIdx.x < world) {
    store_release(flags[threadIdx.x] + blockIdx.x * world + rank, 2 * call + 1);
    wait_for(flags[rank] + blockIdx.x * world + threadIdx.x, 2 * call + 1);
  }
  __syncthreads();
  sum_inputs(output, staged, count, world);
  barrier(flags, rank, world, 2 * call + 2);
}
