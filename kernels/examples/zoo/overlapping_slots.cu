// Found in QuickReduce of vLLM, pull request 25892 (2025): where a call's slot begins depends on the size of that call.
// Two slots suffice while all calls have one size; a larger call behind a smaller one overlaps the slot that a peer
// still reads.
//
// Mended: slots begin at fixed places.
#include "sum.cuh"

[[maybe_unused]] constexpr int kMost = 4096; // floats of a slot

// Calls use two slots in turn, so that one barrier is enough: who has come to the next call has read the slot before.
extern "C" __global__ void overlapping_slots(float* output, const float* input, float* const* slots,
                                             unsigned* const* flags, int count, unsigned rank, unsigned world,
                                             unsigned call) {
#ifdef MENDED
  const int begin = call % 2 * kMost;
#else
  const int begin = call % 2 * count;
#endif
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (int i = first; i < count; i += step) slots[rank][begin + i] = input[i];
  barrier(flags, rank, world, call + 1);
  for (int i = first; i < count; i += step) {
    float sum = slots[0][begin + i];
    for (unsigned r = 1; r < world; r++) sum += slots[r][begin + i];
    output[i] = sum;
  }
}
