// Found in AITER's custom allreduce, pull request 4786 (2026): a rank waits for a peer's flag with the scope of its own
// device. The store has system scope, the load does not include the other GPU, and the two do not synchronize.
//
// Mended: the load has system scope as well.
#include "sum.cuh"

#ifdef MENDED
#define LOAD "ld.acquire.sys.global.u32"
#else
#define LOAD "ld.acquire.gpu.global.u32"
#endif

inline __device__ void meet(unsigned* const* flags, unsigned rank, unsigned world, unsigned number) {
  __syncthreads();
  if (threadIdx.x < world) {
    const unsigned peer = threadIdx.x;
    store_release(flags[peer] + blockIdx.x * world + rank, number);
    unsigned seen;
    do {
      asm volatile(LOAD " %0, [%1];" : "=r"(seen) : "l"(flags[rank] + blockIdx.x * world + peer) : "memory");
    } while ((int)(seen - number) < 0);
  }
  __syncthreads();
}

extern "C" __global__ void device_scope(float* output, const float* input, float* const* staged, unsigned* const* flags,
                                        int count, unsigned rank, unsigned world, unsigned call) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) staged[rank][i] = input[i];
  meet(flags, rank, world, 2 * call + 1);
  sum_inputs(output, staged, count, world);
  meet(flags, rank, world, 2 * call + 2);
}
