// Copies a local buffer to the same offset on all ranks, through the multicast address.
#pragma once

#include "copy.cuh"
#include "multimem.cuh"
#include "reduce.cuh"

// The blocks of the grid share the copy. `offset` is the offset of the copies from the base of symmetric memory.
FORCE_INLINE __device__ void multicast_copy(const Params& p, const Buffer& from, int64_t offset) {
  fence_alias(); // the barrier before it ordered accesses by the unicast address
  const int64_t whole = is_aligned(offset) ? p.bytes / kVecBytes : 0;
  each_vec(from, 0, whole, [&](int64_t i, Vec v) { multicast_store(p.multicast + offset + i * kVecBytes, v); });
  fence_alias();
  each_vec(from, whole, vecs_in(p.bytes), [&](int64_t i, Vec v) {
    each_rank<0, 0>(p, [&](uint32_t r) { store_bytes(Buffer(p.peers[r] + offset, p.bytes), i, v); });
  });
}
