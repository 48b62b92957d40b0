// Met in Megatron-LM, pull request 7263 (2026): memory that peers add to is cleared behind the fence that tells them. A
// peer adds for the next call, and the clearing erases the summand.
//
// Mended: the memory is cleared before the barrier.
#include "sum.cuh"

// Every rank adds its input to the sums of all ranks. Sums are zero before a call.
extern "C" __global__ void cleared_late(float* output, const float* input, float* const* sums, unsigned* const* flags,
                                        int count, unsigned rank, unsigned world, unsigned call) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (int i = first; i < count; i += step) {
    for (unsigned r = 0; r < world; r++)
      asm volatile("red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(sums[r] + i), "f"(input[i]) : "memory");
  }
  barrier(flags, rank, world, 2 * call + 1);
  for (int i = first; i < count; i += step) output[i] = sums[rank][i];
#ifdef MENDED
  for (int i = first; i < count; i += step) sums[rank][i] = 0;
  barrier(flags, rank, world, 2 * call + 2);
#else
  barrier(flags, rank, world, 2 * call + 2);
  for (int i = first; i < count; i += step) sums[rank][i] = 0;
#endif
}
