// The part of CUDA C++ that the suite uses. clang compiles it without NVIDIA's headers.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __noinline__ __attribute__((noinline))
#define KERNEL extern "C" __global__ void
#define INLINE static inline __attribute__((always_inline)) __device__

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
};
#include <__clang_cuda_builtin_vars.h>

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;
using i8 = signed char;
using half = _Float16;
using bfloat = __bf16;
using float2 = float __attribute__((ext_vector_type(2)));
using float4 = float __attribute__((ext_vector_type(4)));
using half2 = half __attribute__((ext_vector_type(2)));
using bfloat2 = bfloat __attribute__((ext_vector_type(2)));

constexpr u32 kAll = 0xffffffff; // all lanes of a warp

INLINE u32 global_thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
INLINE u32 global_threads() { return gridDim.x * blockDim.x; }
INLINE u32 lane_id() { return threadIdx.x % 32; }
INLINE void __syncwarp() { __nvvm_bar_warp_sync(kAll); }
INLINE void __threadfence() { __nvvm_membar_gl(); }

// The value of x in another lane.
INLINE u32 shuffle_up(u32 x, u32 distance) { return __nvvm_shfl_sync_up_i32(kAll, x, distance, 0); }
INLINE u32 shuffle_xor(u32 x, u32 distance) { return __nvvm_shfl_sync_bfly_i32(kAll, x, distance, 31); }
INLINE float shuffle_xor(float x, u32 distance) { return __nvvm_shfl_sync_bfly_f32(kAll, x, distance, 31); }
INLINE u32 shuffle(u32 x, u32 lane) { return __nvvm_shfl_sync_idx_i32(kAll, x, lane, 31); }

INLINE u32 atomic_add(u32* p, u32 x) { return __nvvm_atom_add_gen_i((int*)p, x); }
INLINE u32 atomic_cas(u32* p, u32 old, u32 x) { return __nvvm_atom_cas_gen_i((int*)p, old, x); }
INLINE u32 atomic_exchange(u32* p, u32 x) { return __nvvm_atom_xchg_gen_i((int*)p, x); }
