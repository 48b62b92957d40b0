// scatter, peer to peer: every rank loads its part from the root.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. copy this rank's part of the root's input to the output
//   3. barrier again
//
// Why the ranks load, and the root does not store: all ranks' multiprocessors share the
// work.
//
// Buffers: the root's input lies in symmetric memory, at the same offset on all ranks;
// the output is local. Only the root's input is read. In place, the root's output is its
// own part of the input, and the root copies nothing.
//
// Memory order: barrier 1 publishes the root's input; barrier 3 says that it has been
// read.
//
// The caller gives the same bytes, root and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"

FORCE_INLINE __device__ void p2p(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  const Buffer from(p.peers[p.root] + p.send_offset + p.rank * p.bytes, p.bytes);
  const Buffer to(p.peers[p.rank] + p.recv_offset, p.bytes);
  if (from.address != to.address)
    each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
  epochs.sync_last(p.world);
}

ENTRY(scatter_p2p, p2p)
