// broadcast, relay: the root sends each chunk of the data to one rank, its owner, which sends
// it to all others, so that the root's link carries the data once, the others' at most once each way,
// and nothing is loaded over a link.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. the blocks take the chunks of the data in turn, and of a block's chunks a warp each
//      (chunks.cuh). All of a block's have one owner: the ranks beside the root are dealt the
//      blocks in turn.
//      a. the root copies the chunk from its input to the owner's output and waits until it has been
//         written; out of place it copies it to its own output as well
//      b. when the warps of all chunks before have done so, it tells the owner
//      c. the owner waits for that and copies the chunk from its output to those of all others but the root
//   3. barrier again
//   Of two ranks the owner has nobody to send to: steps b and c are left out.
//
// Epochs: a block's chunks take as many, on all ranks, whether told of there or not, so that
// barrier 3 is the one behind them for all. The flag that counts the chunks of the root is one
// behind the barrier's when it has told of all, those of the others as far back as barrier 1;
// each then goes to that of barrier 3.
//
// Buffers: input and output lie in symmetric memory at the same offsets on all ranks, and may be the
// same. Only the root's input is read.
//
// Memory order: barrier 1 says that the outputs may be overwritten. chunks.cuh says how a chunk is
// published to its owner, which alone reads it. All that a warp stores has been written before it comes to
// barrier 3, which publishes it.
//
// A rank that has missed a chunk does not come to barrier 3. The others wait there twice as long for a rank
// that may be waiting for the root, so that it is the root that all of them miss.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, root and grid on all
// ranks, a grid of at most kMaxBlocks blocks that are all resident, blocks of a multiple of 32
// threads, kBulkStages warps at least, and kBulkSharedBytes of shared memory. Any count and
// alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/part.cuh"
#include "chunks.cuh"

// Whose this block's chunks are, beside the root; a single rank's are its own.
FORCE_INLINE __device__ uint32_t owner_of(const Params& p) {
  if (p.world == 1) return p.root;
  const uint32_t owner = p.root + 1 + block_id() % (p.world - 1);
  return owner < p.world ? owner : owner - p.world;
}

// Passes the chunks of this block on, if this rank is the root or their owner. False, in some thread, when one has
// been missed.
FORCE_INLINE __device__ bool move_chunks(const Params& p, const Chunks& chunks, const Turns& turns, uint32_t epoch) {
  const uint32_t owner = owner_of(p);
  const bool told = p.world > 2; // the owner, who sends to others
  const auto output = [&](uint32_t r) { return p.peers[r] + p.recv_offset; };
  if (p.rank == p.root) {
    const Place place = {p.peers[p.rank] + p.send_offset, false, told, p.root, owner};
    return pass_all_on(p, place, chunks, turns, epoch, [&](auto f) {
      if (owner != p.root) f(output(owner));
      if (p.send_offset != p.recv_offset) f(output(p.rank));
    });
  }
  if (p.rank == owner && told) {
    const Place place = {output(p.rank), true, false, p.root, p.rank};
    return pass_all_on(p, place, chunks, turns, epoch, [&](auto f) {
      each_rank_from_next(p, [&](uint32_t r) {
        if (r != p.root && r != p.rank) f(output(r));
      });
    });
  }
  return true;
}

FORCE_INLINE __device__ void relay(const Params& p) {
  const Turns turns;
  if (thread_id() == 0) turns.pass(0);
  Epochs epochs(p);
  const uint32_t epoch = epochs.next();
  if (!epochs.sync_first(p.world)) return;
  const Chunks chunks = {p.bytes, p.tile_bytes};
  if (!block_all(move_chunks(p, chunks, turns, epoch + 1))) return;
  epochs.skip((uint32_t)chunks.count());
  epochs.sync_last(p.world, thread_id() == p.root ? 1 : 2);
}

ENTRY(broadcast_relay, relay)
