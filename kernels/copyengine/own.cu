// Copies a part that stays on this GPU, while memory copies bring what comes from peers:
// copy engines would take long for it, beside or behind the others.
//
// Algorithm: copy the own input to the own output.
//
// Buffers: both are local, at send_offset and recv_offset, and must not be the same.
//
// Memory order: nobody else touches either, so nobody is waited for; the stream orders
// the rest.
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
