// Asked about in TensorRT-LLM, pull request 4344 (2025): the number of a barrier is an argument, and a captured graph
// repeats its value. From the second replay on, the flags of the first one end all waits.
//
// Mended: the kernel counts its calls in device memory.
#include "sum.cuh"

extern "C" __global__ void constant_epoch(float* output, const float* const* inputs, unsigned* const* flags,
                                          unsigned* calls, int count, unsigned rank, unsigned world) {
#ifdef MENDED
  const unsigned call = calls[blockIdx.x];
#else
  const unsigned call = 0;
#endif
  barrier(flags, rank, world, 2 * call + 1);
  sum_inputs(output, inputs, count, world);
  barrier(flags, rank, world, 2 * call + 2);
  if (threadIdx.x == 0) calls[blockIdx.x] = call + 1;
}
