// broadcast, chain: the root's data goes from rank to rank, in chunks, by bulk stores. Each GPU stores to one other GPU
// only, and each link carries data in one direction only.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. the blocks take the chunks of the data in turn, and the warps of a block take its chunks in turn (chunks.cuh). For
//      each chunk:
//      a. every rank but the root waits until the previous rank has notified it of the chunk
//      b. every rank but the last copies the chunk to the next rank's output, through the warp's stage of shared memory,
//         from its own output, or at the root from its input; it waits until the chunk has been written
//      c. it notifies the next rank, after the warps of all earlier chunks of the block have done so
//      Out of place, the root also copies the chunk to its own output.
//
// There is no closing barrier. Only the previous rank stores to a rank's memory, and the rank has waited for all of these
// stores when it ends. Only the rank itself reads its memory. Its notifications lie in the next rank's signal pad, where only
// this block writes, in order.
//
// Buffers: input and output lie in symmetric memory at the same offsets on all ranks, and may be the same. Only the root's
// input is read.
//
// Memory order: barrier 1 allows the outputs to be overwritten. chunks.cuh says how a chunk is published.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, root and grid on all
// ranks, a grid of at most kMaxBlocks blocks that are all resident, blocks of a multiple of 32
// threads, at least kBulkStages warps, and kBulkSharedBytes of shared memory. Any count and
// alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "chunks.cuh"

// The chain begins at the root and ends at the rank before it.
FORCE_INLINE __device__ Route route_of(const Params& p) {
  const uint32_t previous = p.rank == 0 ? p.world - 1 : p.rank - 1, next = p.rank + 1 == p.world ? 0 : p.rank + 1;
  const bool is_root = p.rank == p.root, is_last = next == p.root;
  return {p.peers[p.rank] + (is_root ? p.send_offset : p.recv_offset), !is_root, !is_last, previous, next};
}

FORCE_INLINE __device__ void chain(const Params& p) {
  const NotifyOrder order;
  if (thread_id() == 0) order.set_next(0);
  Epochs epochs(p);
  const uint32_t epoch = epochs.next();
  if (!epochs.sync_first(p.world)) return;
  const Chunks chunks = {p.bytes, p.tile_bytes};
  epochs.skip((uint32_t)chunks.count());
  epochs.save();
  const Route route = route_of(p);
  forward_block(p, route, chunks, order, epoch + 1, [&](auto f) {
    if (route.notifies) f(p.peers[route.next] + p.recv_offset);
    if (!route.receives && p.send_offset != p.recv_offset) f(p.peers[p.rank] + p.recv_offset);
  });
}

ENTRY(broadcast_chain, chain)
