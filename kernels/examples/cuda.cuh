// The part of CUDA C++ that the examples use, for clang without the CUDA toolkit. nvcc needs nothing of it.
#pragma once

#ifndef __CUDACC__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
};
#include <__clang_cuda_builtin_vars.h>

using size_t = decltype(sizeof(0));
inline __device__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#endif
