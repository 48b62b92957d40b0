// Found in PyTorch's symmetric memory, issue 192581 (2026): two groups of ranks use one signal pad, and a word's place in
// it is the rank within the group. A signal sent in one group ends a wait in the other.
//
// Here all ranks are one group, and pairs of neighbors another: block 0 serves all, block 1 the pair.
// Mended: each group has words of its own.
#include "sum.cuh"

// A barrier of `size` ranks from `first` on. The caller's rank in the group is `own`.
inline __device__ void meet(unsigned* const* flags, unsigned at, unsigned first, unsigned size, unsigned own,
                            unsigned number) {
  __syncthreads();
  if (threadIdx.x < size) {
    store_release(flags[first + threadIdx.x] + at + own, number);
    wait_for(flags[first + own] + at + threadIdx.x, number);
  }
  __syncthreads();
}

extern "C" __global__ void shared_pad(float* sum, float* pair, const float* const* inputs, unsigned* const* flags,
                                      int count, unsigned rank, unsigned world, unsigned call) {
  const bool all = blockIdx.x == 0;
  const unsigned first = all ? 0 : rank / 2 * 2, size = all ? world : 2, own = rank - first;
#ifdef MENDED
  const unsigned at = all ? 0 : world;
#else
  const unsigned at = 0;
#endif
  meet(flags, at, first, size, own, 2 * call + 1);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    float total = 0;
    for (unsigned r = 0; r < size; r++) total += inputs[first + r][i];
    (all ? sum : pair)[i] = total;
  }
  meet(flags, at, first, size, own, 2 * call + 2);
}

// The truth: inputs of all ranks are on one device.
extern "C" __global__ void shared_pad_reference(float* sum, float* pair, const float* const* inputs, int count,
                                                unsigned rank, unsigned world) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  sum[i] = 0;
  for (unsigned r = 0; r < world; r++) sum[i] += inputs[r][i];
  pair[i] = inputs[rank / 2 * 2][i] + inputs[rank / 2 * 2 + 1][i];
}
