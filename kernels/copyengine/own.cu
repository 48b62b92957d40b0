// Copies this rank's own part, while copy engines copy the parts of the peers. A kernel does
// it because copy engines would take long for it, beside or after their other copies.
//
// Algorithm: copy this rank's input to its output.
//
// Buffers: both are local, at send_offset and recv_offset, and must not be the same.
//
// Memory order: that of the stream. No other rank accesses either buffer.
//
// The caller gives any grid of any blocks. Any count and alignment. sm_80 and up, up
// to kMaxRanks ranks.

#include "../device/copy.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void copy_own(const Params& p) {
  grid_dependency_sync();
  const uint64_t own = p.peers[p.rank];
  const Buffer from(own + p.send_offset, p.bytes), to(own + p.recv_offset, p.bytes);
  each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
}

ENTRY(copyengine_own, copy_own)
