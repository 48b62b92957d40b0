// The definitions of CUDA C++ that the kernels use. With them clang compiles the kernels without the CUDA toolkit and its
// headers.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define GRID_CONSTANT __attribute__((grid_constant)) // of a parameter: it has an address, the same for all threads
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define FORCE_INLINE inline __attribute__((always_inline))

using int8_t = signed char;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

// A pointer that the compiler knows to be a global address, of this GPU or of
// a peer, so that it emits ld.global and st.global.
template <typename T>
using Global = __attribute__((address_space(1))) T*;

// Sixteen bytes: the widest single access of a thread.
using Vec = uint32_t __attribute__((ext_vector_type(4)));
constexpr int kVecBytes = 16;

FORCE_INLINE __device__ uint32_t thread_id() { return __nvvm_read_ptx_sreg_tid_x(); }
FORCE_INLINE __device__ uint32_t block_threads() { return __nvvm_read_ptx_sreg_ntid_x(); }
FORCE_INLINE __device__ uint32_t block_id() { return __nvvm_read_ptx_sreg_ctaid_x(); }
FORCE_INLINE __device__ uint32_t grid_blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }

// Nanoseconds of a clock that all threads of the GPU share.
FORCE_INLINE __device__ uint64_t global_timer() {
  uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

// Programmatic dependent launch (cudaGridDependencySynchronize): waits until the previous kernel of the stream has
// completed and its writes are visible, then allows the next one to launch. Before sm_90 there is nothing to wait for.
FORCE_INLINE __device__ void grid_dependency_sync() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Makes clang compute a value here, not where it is first used.
template <typename Value>
FORCE_INLINE __device__ void compute_here(Value value) {
  asm volatile("" ::"l"(value));
}

// Waits for all threads of the block; true when ok was true in all of them.
FORCE_INLINE __device__ bool block_all(bool ok) { return __nvvm_bar0_and(ok) != 0; }

constexpr uint32_t kWarp = 32;

FORCE_INLINE __device__ uint32_t lane_id() { return thread_id() % kWarp; }

// The value of x in the lane whose number is this lane's with the bits of `distance` flipped.
FORCE_INLINE __device__ float shuffle_xor(float x, uint32_t distance) {
  float y;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=f"(y) : "f"(x), "r"(distance));
  return y;
}

// The value of x in the warp's first lane. All lanes call it.
FORCE_INLINE __device__ uint32_t from_first_lane(uint32_t x) {
  uint32_t y;
  asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, -1;" : "=r"(y) : "r"(x));
  return y;
}

// The square root, rounded to nearest.
FORCE_INLINE __device__ float square_root(float x) {
  float y;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
