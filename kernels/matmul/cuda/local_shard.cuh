// The copy of a gather's local shard into the gathered matrix: a spare warp of each block copies a part of it, through two
// buffers in shared memory, while the others multiply. A memory copy of the driver would use multiprocessors. All of these
// are busy, so it would begin after the last tiles.
#pragma once

#include "shared_layout.cuh"

// Copies the chunks of block `block` of `blocks`, by one thread. They have been written when the kernel ends.
template <int kColumns>
FORCE_INLINE __device__ void copy_local_shard(const MatmulParams& p, SharedLayout<kColumns> at, int64_t rows, uint32_t block, uint32_t blocks) {
  constexpr int64_t kChunk = SharedLayout<kColumns>::kChunkBufferBytes;
  const int64_t row_bytes = p.k * kElementBytes, bytes = rows * row_bytes, stride = blocks * kChunk;
  const int64_t shard_rows = (p.m + p.base.world - 1) / p.base.world;
  const uint64_t to = p.a_full + p.base.rank * shard_rows * row_bytes;
  const auto size = [&](int64_t chunk) { return (uint32_t)(bytes - chunk < kChunk ? bytes - chunk : kChunk); };
  const auto fetch = [&](int64_t chunk, uint32_t buffer) {
    if (chunk >= bytes) return;
    mbarrier_expect(at.chunk_loaded(buffer), size(chunk));
    bulk_load(at.chunk_buffer(buffer), p.a + chunk, size(chunk), at.chunk_loaded(buffer));
  };
  const int64_t first = block * kChunk;
  fetch(first, 0);
  fetch(first + stride, 1);
  uint32_t buffer = 0, parity = 0;
  for (int64_t chunk = first; chunk < bytes; chunk += stride) {
    mbarrier_wait(at.chunk_loaded(buffer), parity);
    bulk_store(to + chunk, at.chunk_buffer(buffer), size(chunk));
    bulk_commit();
    bulk_wait_read<0>();
    fetch(chunk + 2 * stride, buffer);
    parity ^= buffer;
    buffer ^= 1;
  }
}
