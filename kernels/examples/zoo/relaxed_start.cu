// Found in AITER's custom allreduce, pull request 4812 (2026): a copy in the stream makes the input, and the kernel tells
// its peers by a relaxed store. The copy happens before the kernel, and nothing carries that to the peers.
//
// Mended: the first barrier releases and acquires.
#include "sum.cuh"

extern "C" __global__ void relaxed_start(float* output, const float* const* inputs, unsigned* const* flags, int count,
                                         unsigned rank, unsigned world, unsigned call) {
#ifdef MENDED
  barrier(flags, rank, world, 2 * call + 1);
#else
  if (threadIdx.x < world) {
    store_relaxed(flags[threadIdx.x] + blockIdx.x * world + rank, 2 * call + 1);
    while ((int)(load_relaxed(flags[rank] + blockIdx.x * world + threadIdx.x) - (2 * call + 1)) < 0) {
    }
  }
  __syncthreads();
#endif
  sum_inputs(output, inputs, count, world);
  barrier(flags, rank, world, 2 * call + 2);
}
