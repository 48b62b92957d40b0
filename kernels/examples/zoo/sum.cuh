// What the kernels of this folder share: the sum over all ranks' inputs, and words that peers poll.
#pragma once

#include "../flags.cuh"

// Adds the inputs of all ranks, in rank order.
inline __device__ void sum_inputs(float* output, const float* const* inputs, int count, unsigned world) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float sum = inputs[0][i];
    for (unsigned r = 1; r < world; r++) sum += inputs[r][i];
    output[i] = sum;
  }
}

inline __device__ void store_relaxed(unsigned* word, unsigned value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

inline __device__ unsigned load_relaxed(const unsigned* word) {
  unsigned value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}
