// Described in TensorRT-LLM, pull request 18834 (2026): all blocks of a grid wait for one another, and the grid has more
// blocks than the GPU holds at once. Those that wait never leave, and the others never begin.
//
// Mended: a block does not wait for other blocks of its own grid, only for the one of the same number at each peer,
// and works in order, so that a few resident blocks suffice.
#include "sum.cuh"

// Waits until all blocks of this grid have come.
inline __device__ void meet_in_grid(unsigned* counter, unsigned want) {
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
    unsigned seen;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    } while ((int)(seen - want) < 0);
  }
  __syncthreads();
}

extern "C" __global__ void not_resident(float* output, const float* const* inputs, unsigned* const* flags,
                                        [[maybe_unused]] unsigned* counter, int count, unsigned rank, unsigned world,
                                        unsigned call) {
#ifndef MENDED
  meet_in_grid(counter, (call + 1) * gridDim.x);
#endif
  barrier(flags, rank, world, 2 * call + 1);
  sum_inputs(output, inputs, count, world);
  barrier(flags, rank, world, 2 * call + 2);
}
