// Met where a compiler or an author loads a peer's data by ld.global.nc (__ldg, const __restrict__): such a load is for
// memory that nobody writes while the kernel runs. It may return what the GPU has cached, whatever the flags say.
//
// Mended: an ordinary load.
#include "sum.cuh"

#ifdef MENDED
#define LOAD "ld.global.f32"
#else
#define LOAD "ld.global.nc.f32"
#endif

extern "C" __global__ void cached_load(float* output, const float* input, float* const* staged, unsigned* const* flags,
                                       int count, unsigned rank, unsigned world, unsigned call) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (int i = first; i < count; i += step) staged[rank][i] = input[i];
  barrier(flags, rank, world, 2 * call + 1);
  for (int i = first; i < count; i += step) {
    float sum = 0;
    for (unsigned r = 0; r < world; r++) {
      float value;
      asm volatile(LOAD " %0, [%1];" : "=f"(value) : "l"(staged[r] + i) : "memory");
      sum += value;
    }
    output[i] = sum;
  }
  barrier(flags, rank, world, 2 * call + 2);
}
