// The reduction operations, on the element type's Work.
#pragma once

#include "cuda.cuh"

struct Sum {
  template <typename W>
  static FORCE_INLINE __device__ W combine(W a, W b) { return a + b; }
  template <typename W>
  static FORCE_INLINE __device__ W finish(W a, uint32_t) { return a; }
};

struct Prod {
  template <typename W>
  static FORCE_INLINE __device__ W combine(W a, W b) { return a * b; }
  template <typename W>
  static FORCE_INLINE __device__ W finish(W a, uint32_t) { return a; }
};

// Min and Max of floats return the other number if one is NaN.
struct Min {
  template <typename W>
  static FORCE_INLINE __device__ W combine(W a, W b) { return b < a ? b : a; }
  static FORCE_INLINE __device__ float combine(float a, float b) { return __builtin_fminf(a, b); }
  static FORCE_INLINE __device__ double combine(double a, double b) { return __builtin_fmin(a, b); }
  template <typename W>
  static FORCE_INLINE __device__ W finish(W a, uint32_t) { return a; }
};

struct Max {
  template <typename W>
  static FORCE_INLINE __device__ W combine(W a, W b) { return b > a ? b : a; }
  static FORCE_INLINE __device__ float combine(float a, float b) { return __builtin_fmaxf(a, b); }
  static FORCE_INLINE __device__ double combine(double a, double b) { return __builtin_fmax(a, b); }
  template <typename W>
  static FORCE_INLINE __device__ W finish(W a, uint32_t) { return a; }
};

// Avg divides the sum by the number of ranks; integers round toward zero.
struct Avg : Sum {
  template <typename W>
  static FORCE_INLINE __device__ W finish(W a, uint32_t world) { return a / (W)world; }
};
