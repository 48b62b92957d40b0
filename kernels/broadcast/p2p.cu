// broadcast, peer to peer: every rank but the root loads its share of the root's data and
// stores it to all ranks but the root. No link carries more than the data once.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. load this rank's 1/(n-1) share of the root's input, store it to every output but
//      the root's; the root copies its input to its output
//   3. barrier again
//
// Buffers: input and output lie in symmetric memory at the same offsets on all
// ranks, and may be the same. Only the root's input is read.
//
// Memory order: barrier 1 publishes the input and allows the outputs to be overwritten;
// barrier 3 publishes the stored data and says that the input has been read.
//
// The caller gives the same bytes, root and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"
#include "../device/reduce.cuh"

FORCE_INLINE __device__ void fetch_and_push(const Params& p) {
  const Buffer from(p.peers[p.root] + p.send_offset, p.bytes);
  const Range share = share_beside_root(vecs_in(p.bytes), p);
  each_vec(from, share.begin, share.end, [&](int64_t i, Vec v) {
    each_rank<0, 0>(p, [&](uint32_t r) {
      if (r != p.root) store_bytes(Buffer(p.peers[r] + p.recv_offset, p.bytes), i, v);
    });
  });
}

FORCE_INLINE __device__ void copy_own(const Params& p) {
  if (p.send_offset == p.recv_offset) return;
  const Buffer from(p.peers[p.root] + p.send_offset, p.bytes), to(p.peers[p.root] + p.recv_offset, p.bytes);
  each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
}

FORCE_INLINE __device__ void p2p(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  if (p.rank == p.root)
    copy_own(p);
  else
    fetch_and_push(p);
  epochs.sync_last(p.world);
}

ENTRY(broadcast_p2p, p2p)
