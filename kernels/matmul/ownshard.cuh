// How the own shard of a gather comes into the gathered matrix beside those of the peers: an idle warp of each block copies
// some of it, through two places in shared memory, while others multiply. Memory copies within a GPU are made
// by multiprocessors, which are all taken, and so would wait for the last tiles.
#pragma once

#include "clusters.cuh"

// One thread's copies of the chunks that fall to one block of so many. What they store has been written when the kernel ends.
template <int kColumns>
FORCE_INLINE __device__ void copy_own_shard(const MatmulParams& p, Layout<kColumns> at, int64_t rows, uint32_t block, uint32_t blocks) {
  constexpr int64_t kChunk = Layout<kColumns>::kPassingBytes;
  const int64_t row_bytes = p.k * kElementBytes, bytes = rows * row_bytes, stride = blocks * kChunk;
  const int64_t shard_rows = (p.m + p.base.world - 1) / p.base.world;
  const uint64_t to = p.a_full + p.base.rank * shard_rows * row_bytes;
  const auto size = [&](int64_t chunk) { return (uint32_t)(bytes - chunk < kChunk ? bytes - chunk : kChunk); };
  const auto fetch = [&](int64_t chunk, uint32_t place) {
    if (chunk >= bytes) return;
    mbarrier_expect(at.passing(place), size(chunk));
    bulk_load(at.passage(place), p.a + chunk, size(chunk), at.passing(place));
  };
  const int64_t first = block * kChunk;
  fetch(first, 0);
  fetch(first + stride, 1);
  uint32_t place = 0, parity = 0;
  for (int64_t chunk = first; chunk < bytes; chunk += stride) {
    mbarrier_wait(at.passing(place), parity);
    bulk_store(to + chunk, at.passage(place), size(chunk));
    bulk_commit();
    bulk_wait_read<0>();
    fetch(chunk + 2 * stride, place);
    parity ^= place;
    place ^= 1;
  }
}
