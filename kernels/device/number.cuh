// The element types: how a 16-byte vector of them becomes fp32 and back.
//
// All sums are taken in fp32, and rounded to nearest even once at the end.
#pragma once

#include "cuda.cuh"

struct Float {
  using Bits = uint32_t;
  static FORCE_INLINE __device__ float load(Bits b) { return __builtin_bit_cast(float, b); }
  static FORCE_INLINE __device__ Bits store(float f) { return __builtin_bit_cast(Bits, f); }
};

struct Half {
  using Bits = uint16_t;
  static FORCE_INLINE __device__ float load(Bits b) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(b));
    return f;
  }
  static FORCE_INLINE __device__ Bits store(float f) {
    Bits b;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(f));
    return b;
  }
};

struct BFloat16 {
  using Bits = uint16_t;
  static FORCE_INLINE __device__ float load(Bits b) { return __builtin_bit_cast(float, (uint32_t)b << 16); }
  static FORCE_INLINE __device__ Bits store(float f) {
    Bits b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(f));
    return b;
  }
};

template <typename T>
constexpr int kPerVec = kVecBytes / sizeof(typename T::Bits);

// Sums is one vector's worth of running fp32 sums.
template <typename T>
struct Sums {
  float at[kPerVec<T>];

  static FORCE_INLINE __device__ float element(Vec v, int i) {
    if constexpr (sizeof(typename T::Bits) == 4) {
      return T::load(v[i]);
    } else {
      return T::load((uint16_t)(v[i / 2] >> (16 * (i % 2))));
    }
  }

  FORCE_INLINE __device__ void set(Vec v) {
#pragma unroll
    for (int i = 0; i < kPerVec<T>; i++) at[i] = element(v, i);
  }

  FORCE_INLINE __device__ void add(Vec v) {
#pragma unroll
    for (int i = 0; i < kPerVec<T>; i++) at[i] += element(v, i);
  }

  FORCE_INLINE __device__ Vec rounded() const {
    Vec v;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if constexpr (sizeof(typename T::Bits) == 4) {
        v[i] = T::store(at[i]);
      } else {
        v[i] = (uint32_t)T::store(at[2 * i]) | (uint32_t)T::store(at[2 * i + 1]) << 16;
      }
    }
    return v;
  }
};
