// alltoall, copy engine: the part that a rank keeps. Its peers' parts come by memory
// copies at the same time.
//
// Algorithm: copy part `rank` of the own input to the same place in the own output.
//
// Buffers: both are local, and must not be the same.
//
// Memory order: no peer touches either part, so nobody is waited for; the stream
// orders the rest.
//
// The caller gives any grid of any blocks. Any count and alignment. sm_80 and up, up
// to kMaxRanks ranks.

#include "../device/copy.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void copy_own(const Params& p) {
  const uint64_t part = p.peers[p.rank] + p.rank * p.bytes;
  const Buffer from(part + p.send_offset, p.bytes), to(part + p.recv_offset, p.bytes);
  each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
}

ENTRY(alltoall_copy_engine, copy_own)
