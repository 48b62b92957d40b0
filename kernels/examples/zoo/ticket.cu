// Met in sums in two steps that follow NVIDIA's sample threadFenceReduction: each block stores a part of the sum and takes
// a ticket; the block with the last ticket adds the parts. A fence before the ticket publishes the parts, and nothing
// acquires them behind it.
//
// Mended: a fence behind the ticket as well.
#include "sum.cuh"

// A rank's output is the sum of its own elements, without other ranks; parts has a float for each block.
extern "C" __global__ void ticket(float* output, const float* input, float* parts, unsigned* tickets, int count) {
  __shared__ float sums[128];
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += input[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 1; i < blockDim.x; i++) sum += sums[i];
    parts[blockIdx.x] = sum;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    unsigned before;
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(tickets), "r"(gridDim.x - 1)
                 : "memory");
#ifdef MENDED
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
    last = before == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  float total = 0;
  for (unsigned b = 0; b < gridDim.x; b++) total += parts[b];
  *output = total;
}

// The truth: one thread adds what each thread of each block adds, in the same order.
extern "C" __global__ void ticket_reference(float* output, const float* input, int count, unsigned blocks) {
  float total = 0;
  for (unsigned b = 0; b < blocks; b++) {
    float part = 0;
    for (unsigned t = 0; t < 128; t++) {
      float sum = 0;
      for (int i = b * 128 + t; i < count; i += blocks * 128) sum += input[i];
      part += sum;
    }
    total += part;
  }
  *output = total;
}
