// Entry points of a kernel template: one for any world size, and one for each
// world size that gets its own code. The element type is a macro of the
// compilation: -DELEMENT=Float.
#pragma once

#include "params.cuh"

#define ENTRY(name, call) \
  extern "C" __global__ void __launch_bounds__(512) name(const Params p) { call(p); }

#define ENTRIES_PER_WORLD_SIZE(kernel)            \
  ENTRY(kernel##_n, (kernel<ELEMENT, 0>))         \
  ENTRY(kernel##_n2, (kernel<ELEMENT, 2>))        \
  ENTRY(kernel##_n4, (kernel<ELEMENT, 4>))        \
  ENTRY(kernel##_n8, (kernel<ELEMENT, 8>))
