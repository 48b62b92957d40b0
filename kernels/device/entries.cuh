// Entry points of a kernel template: for every operation one for any world
// size, and for sums one for each world size that gets its own code. The element
// type is a macro of the compilation: -DELEMENT=Float.
#pragma once

#include "ops.cuh"
#include "params.cuh"
#include "types.cuh"

#define ENTRY(name, call) \
  extern "C" __global__ void __launch_bounds__(512) name(const Params p) { call(p); }

#define ENTRIES(kernel)                                \
  ENTRY(kernel##_sum, (kernel<ELEMENT, Sum, 0>))       \
  ENTRY(kernel##_sum_n2, (kernel<ELEMENT, Sum, 2>))    \
  ENTRY(kernel##_sum_n4, (kernel<ELEMENT, Sum, 4>))    \
  ENTRY(kernel##_sum_n8, (kernel<ELEMENT, Sum, 8>))    \
  ENTRY(kernel##_prod, (kernel<ELEMENT, Prod, 0>))     \
  ENTRY(kernel##_min, (kernel<ELEMENT, Min, 0>))       \
  ENTRY(kernel##_max, (kernel<ELEMENT, Max, 0>))       \
  ENTRY(kernel##_avg, (kernel<ELEMENT, Avg, 0>))
