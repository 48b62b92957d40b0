// Fragments: how the threads of a warp hold a tile. A thread has two adjacent elements of a row, two of the same row 8
// columns on, and so on, as mma, wgmma, ldmatrix and stmatrix define it (PTX ISA, "Matrix Fragments").
#pragma once

#include "../../device/types.cuh"

// Loads four 8 x 8 matrices from shared memory: lane l gives the address of row l % 8 of matrix l / 8.
FORCE_INLINE __device__ void load_matrices(uint32_t (&m)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

// Two elements, rounded to nearest, the first in the lower half.
FORCE_INLINE __device__ uint32_t rounded_pair(BFloat16, float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
FORCE_INLINE __device__ uint32_t rounded_pair(Half, float first, float second) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Adds two elements to a thread's sums.
template <typename T>
FORCE_INLINE __device__ void add_pair(T, float& first, float& second, uint32_t pair) {
  first += T::load((uint16_t)pair);
  second += T::load((uint16_t)(pair >> 16));
}

// Rounds two of a thread's sums to the element type, in fp32.
template <typename T>
FORCE_INLINE __device__ void round_pair(T, float& first, float& second) {
  const uint32_t pair = rounded_pair(T{}, first, second);
  first = T::load((uint16_t)pair);
  second = T::load((uint16_t)(pair >> 16));
}
