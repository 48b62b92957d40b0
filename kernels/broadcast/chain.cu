// broadcast, chain: the root's data goes from rank to rank, in chunks, by bulk stores, so that
// each GPU stores to one other alone, and no link carries anything both ways.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. the blocks take the chunks of the data in turn, and of a block's chunks a warp each
//      (chunks.cuh):
//      a. unless this is the root, wait until the rank in front says that the chunk is there
//      b. unless this is the last rank, copy it to the next rank's output, through the warp's
//         stage of shared memory, from the own output, the root from its input; wait until
//         it has been written
//      c. when the warps of all chunks before have done so, tell the next rank
//      The root out of place copies it to its own output as well.
//
// There is no closing barrier. A rank's memory is stored to by the rank in front alone, whose
// stores have all been told of, and awaited, when it ends. It is read by itself alone. What it
// tells the next rank lies in that one's signal pad, where only this block writes, in order.
//
// Buffers: input and output lie in symmetric memory at the same offsets on all ranks, and may be the
// same. Only the root's input is read.
//
// Memory order: barrier 1 says that the outputs may be overwritten. chunks.cuh says how a chunk
// is published.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, root and grid on all
// ranks, a grid of at most kMaxBlocks blocks that are all resident, blocks of a multiple of 32
// threads, kBulkStages warps at least, and kBulkSharedBytes of shared memory. Any count and
// alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "chunks.cuh"

// The root is first, and the rank in front of it last.
FORCE_INLINE __device__ Place place_of(const Params& p) {
  const uint32_t previous = p.rank == 0 ? p.world - 1 : p.rank - 1, next = p.rank + 1 == p.world ? 0 : p.rank + 1;
  const bool is_root = p.rank == p.root, is_last = next == p.root;
  return {p.peers[p.rank] + (is_root ? p.send_offset : p.recv_offset), !is_root, !is_last, previous, next};
}

FORCE_INLINE __device__ void chain(const Params& p) {
  const Turns turns;
  if (thread_id() == 0) turns.pass(0);
  Epochs epochs(p);
  const uint32_t epoch = epochs.next();
  if (!epochs.sync_first(p.world)) return;
  const Chunks chunks = {p.bytes, p.tile_bytes};
  epochs.skip((uint32_t)chunks.count());
  epochs.save();
  const Place place = place_of(p);
  pass_all_on(p, place, chunks, turns, epoch + 1, [&](auto f) {
    if (place.tells) f(p.peers[place.next] + p.recv_offset);
    if (!place.awaits && p.send_offset != p.recv_offset) f(p.peers[p.rank] + p.recv_offset);
  });
}

ENTRY(broadcast_chain, chain)
