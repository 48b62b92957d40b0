// The reduction of every naive algorithm: reduces local copies of all ranks' data.
//
// Algorithm: load an element of every copy, reduce in rank order, store.
//
// Buffers: all are local. The scratch has a copy per rank, tile_bytes apart. The output is a
// chunk of p.bytes bytes at recv_offset.
//
// Memory order: that of the stream.
//
// The caller gives any grid of any blocks. Any count and alignment of the
// output. sm_80 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/reduce.cuh"

template <typename T>
FORCE_INLINE __device__ void naive(const Params& p) {
  using Bits = typename T::Bits;
  grid_dependency_sync();
  const uint64_t base = p.peers[p.rank], copies = base + p.scratch_offset;
  const auto out = (Global<Bits>)(base + p.recv_offset);
  const int64_t step = grid_blocks() * block_threads();
  for (int64_t i = block_id() * block_threads() + thread_id(); i * (int64_t)sizeof(Bits) < p.bytes; i += step) {
    const auto copy = [&](uint32_t r) { return ((Global<const Bits>)(copies + r * p.tile_bytes))[i]; };
    out[i] = reduce_loaded<T, Any, 0>(p, copy).rounded();
  }
}

ENTRY(naive_any, naive<ELEMENT>)
