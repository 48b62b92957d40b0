// Shared memory by its 32-bit addresses.
#pragma once

#include "cuda.cuh"

// The 32-bit address of dynamic shared memory.
FORCE_INLINE __device__ uint32_t shared_memory() {
  extern __shared__ __attribute__((aligned(1024))) uint8_t shared[];
  return (uint32_t)(uint64_t)(__attribute__((address_space(3))) uint8_t*)shared;
}

// The vector at an aligned address.
FORCE_INLINE __device__ Vec ld_shared(uint32_t address) {
  Vec v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

FORCE_INLINE __device__ void st_shared(uint32_t address, Vec v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

// The word at an aligned address.
FORCE_INLINE __device__ uint32_t ld_shared_word(uint32_t address) {
  uint32_t word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

FORCE_INLINE __device__ void st_shared_word(uint32_t address, uint32_t word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
