// Flags in the memory of peers: words that only grow, so that nothing has to be reset.
//
// Memory order: who has acquired a flag sees everything that was written before the flag's release, at system scope.
// __syncthreads() on both sides carries the order to all threads of the two blocks.
#pragma once

#include "cuda.cuh"

inline __device__ void store_release(unsigned* flag, unsigned value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

inline __device__ unsigned load_acquire(const unsigned* flag) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// Waits until a flag has reached a value. The difference is signed: counts may wrap around.
inline __device__ void wait_for(const unsigned* flag, unsigned value) {
  while ((int)(load_acquire(flag) - value) < 0) {
  }
}

// A barrier of the block with the blocks of the same number on all ranks. flags[r] are those of rank r, a word for each
// block and rank. The caller counts barriers: `value` is larger by one each time. Blocks have at least `world` threads.
inline __device__ void barrier(unsigned* const* flags, unsigned rank, unsigned world, unsigned value) {
  __syncthreads();
  if (threadIdx.x < world) {
    const unsigned peer = threadIdx.x;
    store_release(flags[peer] + blockIdx.x * world + rank, value);
    wait_for(flags[rank] + blockIdx.x * world + peer, value);
  }
  __syncthreads();
}
