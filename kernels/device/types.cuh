// The element types: Bits, the type in memory, and Work, the type of computations.
//
// Floats of 16 and 8 bits are computed in fp32, and rounded to nearest even once at the end. Integers of 8 bits are computed
// in 32 bits, and the lowest 8 bits are stored: integers of all widths wrap around.
#pragma once

#include "cuda.cuh"

// Same is a type whose computations are in the type itself.
template <typename Number>
struct Same {
  using Bits = Number;
  using Work = Number;
  static FORCE_INLINE __device__ Work load(Bits b) { return b; }
  static FORCE_INLINE __device__ Bits store(Work w) { return w; }
};

// Narrow is an integer type whose computations are in a wider type.
template <typename Number, typename Wide>
struct Narrow {
  using Bits = Number;
  using Work = Wide;
  static FORCE_INLINE __device__ Work load(Bits b) { return b; }
  static FORCE_INLINE __device__ Bits store(Work w) { return (Bits)w; }
};

using Int8 = Narrow<int8_t, int32_t>;
using UInt8 = Narrow<uint8_t, uint32_t>;
using Int32 = Same<int32_t>;
using UInt32 = Same<uint32_t>;
using Int64 = Same<int64_t>;
using UInt64 = Same<uint64_t>;
using Float = Same<float>;
using Double = Same<double>;

struct Half {
  using Bits = uint16_t;
  using Work = float;
  static FORCE_INLINE __device__ Work load(Bits b) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(b));
    return f;
  }
  static FORCE_INLINE __device__ Bits store(Work f) {
    Bits b;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(f));
    return b;
  }
};

struct BFloat16 {
  using Bits = uint16_t;
  using Work = float;
  static FORCE_INLINE __device__ Work load(Bits b) { return __builtin_bit_cast(float, (uint32_t)b << 16); }
  static FORCE_INLINE __device__ Bits store(Work f) {
    Bits b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(f));
    return b;
  }
};

// The 8-bit floats of the OCP specification (OFP8, 2023). They are converted through half, which can represent all of their
// values. A value that is too large becomes the largest finite value, as by cvt.satfinite; NaN stays NaN. GPUs before sm_89
// have no instructions for the conversions and use the integer arithmetic below.
//
// kScale is the power of two by which an element's bits, read as those of a
// half, are too small.
template <int kMantissaBits, int kBias, uint32_t kLargest, int kScale>
struct Float8 {
  using Bits = uint8_t;
  using Work = float;

#if __CUDA_ARCH__ >= 890
  static FORCE_INLINE __device__ Work load(Bits b) {
    uint32_t halves;
    if constexpr (kMantissaBits == 3)
      asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((uint16_t)b));
    else
      asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"((uint16_t)b));
    return Half::load((uint16_t)halves);
  }

  static FORCE_INLINE __device__ Bits store(Work f) {
    uint16_t pair;
    if constexpr (kMantissaBits == 3)
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(f));
    else
      asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(f));
    return (Bits)pair;
  }
#else
  static FORCE_INLINE __device__ Work load(Bits b) {
    constexpr uint32_t kNaN = 0x7f;
    const uint32_t sign = (uint32_t)(b & 0x80) << 8, magnitude = b & 0x7f;
    float f = Half::load((uint16_t)(sign | magnitude << (10 - kMantissaBits)));
    if constexpr (kScale == 1) return f; // has half's infinities and NaNs
    return magnitude == kNaN ? __builtin_nanf("") : f * kScale;
  }

  static FORCE_INLINE __device__ Bits store(Work f) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, f), sign = bits >> 24 & 0x80;
    const uint32_t magnitude = bits & 0x7fffffff;
    // Subnormals: adding a number whose last bit is one step of them rounds to it.
    constexpr uint32_t kStep = (uint32_t)(127 - kBias + 1 - kMantissaBits + 23) << 23;
    const float rounded = __builtin_bit_cast(float, magnitude) + __builtin_bit_cast(float, kStep);
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, rounded) - kStep;
    // Normal numbers: half a step less a bit, and that bit if the last one kept is odd.
    constexpr int kDropped = 23 - kMantissaBits;
    const uint32_t up = (1u << (kDropped - 1)) - 1 + (magnitude >> kDropped & 1);
    const uint32_t normal = (magnitude + up - ((uint32_t)(127 - kBias) << 23)) >> kDropped;
    constexpr uint32_t kLeastNormal = (uint32_t)(127 - kBias + 1) << 23;
    const uint32_t code = magnitude < kLeastNormal ? subnormal : normal < kLargest ? normal : kLargest;
    return (Bits)(sign | (magnitude > 0x7f800000 ? 0x7f : code));
  }
#endif
};

using F8E4M3 = Float8<3, 7, 0x7e, 256>;
using F8E5M2 = Float8<2, 15, 0x7b, 1>;

// Elements are the elements of a vector, or a single one.
template <typename T, typename Chunk>
struct Elements {
  typename T::Bits at[sizeof(Chunk) / sizeof(typename T::Bits)];
};
