// Found in vLLM's custom allreduce, issue 8404, mended by pull request 8558 (2024): flags are volatile words. A volatile
// access is relaxed: it orders nothing, so that a peer that has seen the flag may still load old data.
//
// Mended: the flag is released and acquired.
#include "sum.cuh"

#ifdef MENDED
#define STORE "st.release.sys.global.u32"
#define LOAD "ld.acquire.sys.global.u32"
#else
#define STORE "st.volatile.global.u32"
#define LOAD "ld.volatile.global.u32"
#endif

inline __device__ void meet(unsigned* const* flags, unsigned rank, unsigned world, unsigned number) {
  __syncthreads();
  if (threadIdx.x < world) {
    const unsigned peer = threadIdx.x;
    asm volatile(STORE " [%0], %1;" ::"l"(flags[peer] + blockIdx.x * world + rank), "r"(number) : "memory");
    unsigned seen;
    do {
      asm volatile(LOAD " %0, [%1];" : "=r"(seen) : "l"(flags[rank] + blockIdx.x * world + peer) : "memory");
    } while ((int)(seen - number) < 0);
  }
  __syncthreads();
}

// The input is staged in memory that peers can access.
extern "C" __global__ void volatile_flag(float* output, const float* input, float* const* staged,
                                         unsigned* const* flags, int count, unsigned rank, unsigned world,
                                         unsigned call) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) staged[rank][i] = input[i];
  meet(flags, rank, world, 2 * call + 1);
  sum_inputs(output, staged, count, world);
  meet(flags, rank, world, 2 * call + 2);
}
