// Found in TensorRT-LLM's fused allreduce as tokenspeed uses it, pull request 351 (2026): blocks count themselves, and the
// last one tells the peers. The counter is relaxed: what the other blocks have stored is not published with the flag.
//
// Mended: the counter acquires and releases.
#include "sum.cuh"

#ifdef MENDED
#define COUNT "atom.acq_rel.gpu.global.inc.u32"
#else
#define COUNT "atom.relaxed.gpu.global.inc.u32"
#endif

// All blocks of all ranks wait for the flags of the last blocks. The counter wraps around to zero at each barrier.
inline __device__ void meet(unsigned* counter, unsigned* const* flags, unsigned rank, unsigned world, unsigned number) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned before;
    asm volatile(COUNT " %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(gridDim.x - 1) : "memory");
    last = before == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < world) store_release(flags[threadIdx.x] + rank, number);
  if (threadIdx.x < world) wait_for(flags[rank] + threadIdx.x, number);
  __syncthreads();
}

// A block sums what other blocks of the peers have staged.
extern "C" __global__ void counter_order(float* output, const float* input, float* const* staged, unsigned* counter,
                                         unsigned* const* flags, int count, unsigned rank, unsigned world,
                                         unsigned call) {
  const int step = gridDim.x * blockDim.x, other = gridDim.x - 1 - blockIdx.x;
  for (int i = other * blockDim.x + threadIdx.x; i < count; i += step) staged[rank][i] = input[i];
  meet(counter, flags, rank, world, 2 * call + 1);
  sum_inputs(output, staged, count, world);
  meet(counter, flags, rank, world, 2 * call + 2);
}
