// gather, peer to peer: every rank stores its input to the root.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. copy the input to this rank's part of the root's output
//   3. barrier again
//
// Why the ranks store, and the root does not load: all ranks' multiprocessors share the
// work, and a store crosses the link once where a load crosses it twice.
//
// Buffers: the root's output lies in symmetric memory, at the same offset on all
// ranks; the input is local. Only the root's output is written. In place, the root's
// input is its own part of the output, and the root copies nothing.
//
// Memory order: barrier 1 says that the root's output may be overwritten; barrier 3
// publishes what was stored there.
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
  const Buffer from(p.peers[p.rank] + p.send_offset, p.bytes);
  const Buffer to(p.peers[p.root] + p.recv_offset + p.rank * p.bytes, p.bytes);
  if (from.address != to.address)
    each_vec(from, 0, vecs_in(p.bytes), [&](int64_t i, Vec v) { store_bytes(to, i, v); });
  epochs.sync_last(p.world);
}

ENTRY(gather_p2p, p2p)
