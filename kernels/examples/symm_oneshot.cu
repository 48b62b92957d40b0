// Allreduce in one step, with the arguments of PyTorch's symmetric-memory kernels. Sums of bfloat16, in rank order.
//
// Algorithm: 1. copy the input to the staging buffer. 2. barrier. 3. add the staging buffers of all ranks.
//            4. barrier: the next call may overwrite the staging buffer.
// Buffers:   staging[r] and pads[r] are rank r's. A pad has a word for each block and rank, zero between barriers.
// Order:     a barrier releases what its block wrote and acquires what the same block of all ranks wrote. A block
//            reads the elements that the blocks of its number have staged.
// Caller:    the same count, a multiple of 8, and the same grid on all ranks; all blocks are resident; blocks have at
//            least `world` threads; addresses are multiples of 16.
#include "cuda.cuh"

struct alignas(16) Vector {
  unsigned short at[8]; // bits of bfloat16
};

inline __device__ float to_float(unsigned short bits) { return __builtin_bit_cast(float, (unsigned)bits << 16); }
inline __device__ unsigned short to_bfloat16(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

inline __device__ bool put(unsigned* word) { // 0 to 1
  unsigned old;
  asm volatile("atom.release.sys.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(word) : "memory");
  return old == 0;
}
inline __device__ bool take(unsigned* word) { // 1 to 0
  unsigned old;
  asm volatile("atom.acquire.sys.global.cas.b32 %0, [%1], 1, 0;" : "=r"(old) : "l"(word) : "memory");
  return old == 1;
}

inline __device__ void barrier(unsigned** pads, size_t rank, size_t world) {
  __syncthreads();
  if (const size_t peer = threadIdx.x; peer < world) {
    while (!put(&pads[peer][blockIdx.x * world + rank])) {}
    while (!take(&pads[rank][blockIdx.x * world + peer])) {}
  }
  __syncthreads();
}

extern "C" __global__ void symm_oneshot(Vector** staging, Vector* out, const Vector* in, size_t offset, size_t count,
                                        unsigned** pads, size_t rank, size_t world) {
  const size_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (size_t i = first; i < count / 8; i += step) staging[rank][offset / 8 + i] = in[i];
  barrier(pads, rank, world);
  for (size_t i = first; i < count / 8; i += step) {
    float sum[8];
    for (size_t r = 0; r < world; r++) {
      const Vector v = staging[r][offset / 8 + i];
      for (int e = 0; e < 8; e++) sum[e] = r == 0 ? to_float(v.at[e]) : sum[e] + to_float(v.at[e]);
    }
    Vector result;
    for (int e = 0; e < 8; e++) result.at[e] = to_bfloat16(sum[e]);
    out[i] = result;
  }
  barrier(pads, rank, world);
}
