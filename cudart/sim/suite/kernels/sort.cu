// Sorting.
#include "cuda.cuh"

INLINE void order(u32& a, u32& b, bool up) {
  if ((a > b) == up) {
    u32 x = a;
    a = b;
    b = x;
  }
}

// Batcher's bitonic sort of 512 keys a block, in shared memory.
KERNEL sort_bitonic(u32* keys) {
  __shared__ u32 s[512];
  u32 t = threadIdx.x;
  u32* mine = keys + 512 * blockIdx.x;
  s[t] = mine[t];
  s[t + 256] = mine[t + 256];
  for (u32 size = 2; size <= 512; size *= 2)
    for (u32 d = size / 2; d > 0; d /= 2) {
      __syncthreads();
      u32 at = 2 * t - (t & (d - 1));
      order(s[at], s[at + d], (at & size) == 0);
    }
  __syncthreads();
  mine[t] = s[t];
  mine[t + 256] = s[t + 256];
}

// Batcher's odd-even merge sort.
KERNEL sort_odd_even(u32* keys) {
  __shared__ u32 s[512];
  u32 t = threadIdx.x;
  u32* mine = keys + 512 * blockIdx.x;
  s[t] = mine[t];
  s[t + 256] = mine[t + 256];
  for (u32 size = 2; size <= 512; size *= 2) {
    u32 d = size / 2, offset = t & (d - 1);
    __syncthreads();
    u32 at = 2 * t - (t & (d - 1));
    order(s[at], s[at + d], true);
    for (d /= 2; d > 0; d /= 2) {
      __syncthreads();
      at = 2 * t - (t & (d - 1));
      if (offset >= d) order(s[at - d], s[at], true);
    }
  }
  __syncthreads();
  mine[t] = s[t];
  mine[t + 256] = s[t + 256];
}

// The bitonic sort of a warp's 32 keys, in registers.
KERNEL sort_warp(u32* keys) {
  u32 i = global_thread(), lane = lane_id(), x = keys[i];
  for (u32 size = 2; size <= 32; size *= 2)
    for (u32 d = size / 2; d > 0; d /= 2) {
      u32 y = shuffle_xor(x, d);
      bool keep_low = ((lane & d) == 0) == ((lane & size) == 0);
      x = keep_low == (x < y) ? x : y;
    }
  keys[i] = x;
}

// A radix sort of 256 keys a block, bit by bit: ballots count the zeros before each key.
KERNEL sort_radix(u32* keys) {
  __shared__ u32 s[256], zeros[8];
  u32 t = threadIdx.x, warp = t / 32, x = keys[256 * blockIdx.x + t];
  for (u32 bit = 0; bit < 32; bit++) {
    bool one = x >> bit & 1;
    u32 votes = __nvvm_vote_ballot_sync(kAll, !one);
    if (lane_id() == 0) zeros[warp] = __builtin_popcount(votes);
    __syncthreads();
    u32 before = __builtin_popcount(votes & ((1u << lane_id()) - 1)), all = 0;
    for (u32 w = 0; w < 8; w++) {
      if (w < warp) before += zeros[w];
      all += zeros[w];
    }
    s[one ? all + t - before : before] = x;
    __syncthreads();
    x = s[t];
  }
  keys[256 * blockIdx.x + t] = x;
}

// Ranks of the elements of two sorted arrays by binary search: a merge.
KERNEL merge(const u32* a, const u32* b, u32* out, u32 n) {
  u32 i = global_thread(), low = 0, high = n;
  bool first = i < n;
  u32 x = first ? a[i] : b[i - n];
  const u32* other = first ? b : a;
  while (low < high) {
    u32 mid = (low + high) / 2;
    if (first ? other[mid] < x : other[mid] <= x) low = mid + 1; else high = mid;
  }
  out[(first ? i : i - n) + low] = x;
}
