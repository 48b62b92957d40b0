// Entry points of a kernel template. The element type is a macro of the
// compilation: -DELEMENT=Float.
//
// With programmatic dependent launch a kernel may start before the previous kernel of its stream has ended. Every entry
// point waits for that one before it touches memory, by making its Epochs or else by grid_dependency_sync.
#pragma once

#include "epilogue.cuh"
#include "ops.cuh"
#include "params.cuh"
#include "types.cuh"

// Prefetches the parameters and the line of this rank's signal pad before the wait for the previous kernel. One thread of
// a block does it: thousands of warps that fetch the same line would wait for each other.
FORCE_INLINE __device__ void prefetch_params([[maybe_unused]] const Params& p) {
#if __CUDA_ARCH__ >= 900
  if (thread_id() == 0) asm volatile("prefetch.global.L2 [%0];" ::"l"(p.peers[p.rank]));
#endif
}

#define ENTRY(name, call)                                                   \
  extern "C" __global__ void __launch_bounds__(kMaxThreads) name(const Params p) { \
    prefetch_params(p);                                                         \
    call(p);                                                                \
  }

// An entry point for any operation and world size, and entry points for sums with 2, 4 and 8 ranks.
#if defined(GENERAL_ONLY)
#define REDUCTIONS(kernel) ENTRY(kernel##_any, (kernel<ELEMENT, Any, 0, Plain>))
#else
#define REDUCTIONS(kernel)                                  \
  ENTRY(kernel##_any, (kernel<ELEMENT, Any, 0, Plain>))     \
  ENTRY(kernel##_sum_n2, (kernel<ELEMENT, Sum, 2, Plain>)) \
  ENTRY(kernel##_sum_n4, (kernel<ELEMENT, Sum, 4, Plain>)) \
  ENTRY(kernel##_sum_n8, (kernel<ELEMENT, Sum, 8, Plain>))
#endif

// An entry point for any operation, and one for sums, of a kernel whose code does not depend on the number of ranks.
#define ANY_WORLD_REDUCTIONS(kernel)         \
  ENTRY(kernel##_any, (kernel<ELEMENT, Any>)) \
  ENTRY(kernel##_sum, (kernel<ELEMENT, Sum>))

// Entry points for sums with an epilogue.
#define EPILOGUES(kernel)                                       \
  ENTRY(kernel##_sum_negate, (kernel<ELEMENT, Sum, 0, Negate>)) \
  ENTRY(kernel##_sum_scale, (kernel<ELEMENT, Sum, 0, Scale>))   \
  ENTRY(kernel##_sum_bias, (kernel<ELEMENT, Sum, 0, Bias>))

#define RMSNORMS(kernel)                                              \
  ENTRY(kernel##_sum_rmsnorm, (kernel<ELEMENT, Sum, 0, RMSNorm>))     \
  ENTRY(kernel##_sum_rmsnorm_n2, (kernel<ELEMENT, Sum, 2, RMSNorm>)) \
  ENTRY(kernel##_sum_rmsnorm_n4, (kernel<ELEMENT, Sum, 4, RMSNorm>)) \
  ENTRY(kernel##_sum_rmsnorm_n8, (kernel<ELEMENT, Sum, 8, RMSNorm>))

// The entry points of an allreduce, which the module's macros choose from.
#if defined(WITH_EPILOGUES)
#define ALLREDUCES(kernel) EPILOGUES(kernel)
#elif defined(WITH_RMSNORM)
#define ALLREDUCES(kernel) RMSNORMS(kernel)
#else
#define ALLREDUCES(kernel) REDUCTIONS(kernel)
#endif
