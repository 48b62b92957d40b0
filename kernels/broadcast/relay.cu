// broadcast, relay: the root sends each chunk of the data to one rank, the chunk's owner, and the owner sends it to all
// others. The root's link carries the data once, the links of the others at most once in each direction. Nothing is loaded
// over a link.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. the blocks take the chunks of the data in turn, and the warps of a block take its chunks in turn
//      (device/chunks.cuh). All chunks of a block have the same owner; the ranks beside the root own the blocks in turn.
//      a. the root copies the chunk from its input to the owner's output, and waits until it has been written; out of
//         place, the root also copies it to its own output
//      b. the root notifies the owner, after the warps of all earlier chunks of the block have done so
//      c. the owner waits for the notification, and copies the chunk from its output to those of all others but the root
//   3. barrier again
//   With two ranks, the owner has no rank to send to: steps b and c are left out.
//
// Epochs: the chunks of a block take one epoch each on all ranks, whether a rank is notified of them or not, so that barrier
// 3 has the same epoch everywhere. After all chunks, the root's flag on the owner is one epoch before that of barrier 3. The
// flags of other ranks are still at barrier 1. Barrier 3 sets all of them to its own epoch.
//
// Buffers: input and output lie in symmetric memory at the same offsets on all ranks, and may be the same. Only the root's
// input is read.
//
// Memory order: barrier 1 allows the outputs to be overwritten. device/chunks.cuh says how a chunk is published to its owner,
// the only rank that reads it. All stores of a warp have been written before it arrives at barrier 3, which publishes them.
//
// Time-outs: a rank whose wait for a chunk has expired does not arrive at barrier 3. There the others wait twice as long for
// every rank but the root, since such a rank may be waiting for the root. So all ranks report the root as missing.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, root and grid on all
// ranks, a grid of at most kMaxBlocks blocks that are all resident, blocks of a multiple of 32
// threads, at least kBulkStages warps, and kBulkSharedBytes of shared memory. Any count and
// alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/chunks.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"

// The owner of this block's chunks. A single rank owns its own.
FORCE_INLINE __device__ uint32_t owner_of(const Params& p) {
  if (p.world == 1) return p.root;
  const uint32_t owner = p.root + 1 + block_id() % (p.world - 1);
  return owner < p.world ? owner : owner - p.world;
}

// The route of a block's chunks through this rank.
struct Route {
  uint64_t from;            // the address of the data that the chunks are of, on this rank
  bool receives, notifies;  // whether they come from another rank, and whether this rank notifies the next one
  uint32_t previous, next;  // those ranks
};

// Forwards chunks `first`, first + kBulkStages, ... of the block, by a warp. Chunk 0 of the block has `epoch`.
// each_output(f) calls f with the address of the data at each output. False if the wait for a chunk has expired.
template <typename EachOutput>
FORCE_INLINE __device__ bool forward_chunks(const Params& p, const Route& route, const Chunks& chunks, const NotifyOrder& order,
                                            uint32_t epoch, int64_t first, EachOutput each_output) {
  const bool leads = lane_id() == 0;
  Stage stage((uint32_t)first);
  if (leads) stage.init();
  const int64_t count = chunks.count();
  bool ok = true;
#pragma nounroll
  for (int64_t k = first; ok && k < count; k += kBulkStages) {
    ok = warp_all(!route.receives || !leads || wait_for_peer(p, kChunk, route.previous, epoch + (uint32_t)k));
    const int64_t begin = chunks.begin(k), bytes = chunks.size(k);
    if (ok)
      copy_chunk(Buffer(route.from + begin, bytes), is_aligned(p.recv_offset), stage,
                 [&](auto f) { each_output([&](uint64_t to) { f(Buffer(to + begin, bytes)); }); });
    ok = warp_all(ok);
    if (route.notifies && leads) ok = notify(p, route.next, order, k, ok);
    ok = warp_all(ok);
  }
  bulk_wait_written();
  return ok;
}

// Forwards all chunks of the block, by its first kBulkStages warps. Thread 0 has called order.set_next(0) before.
template <typename EachOutput>
FORCE_INLINE __device__ bool forward_block(const Params& p, const Route& route, const Chunks& chunks, const NotifyOrder& order,
                                           uint32_t epoch, EachOutput each_output) {
  const uint32_t warp = thread_id() / kWarp;
  return warp >= kBulkStages || forward_chunks(p, route, chunks, order, epoch, warp, each_output);
}

// Forwards the chunks of this block, if this rank is the root or their owner. False, in at least one thread, if the wait for
// a chunk has expired.
FORCE_INLINE __device__ bool move_chunks(const Params& p, const Chunks& chunks, const NotifyOrder& order, uint32_t epoch) {
  const uint32_t owner = owner_of(p);
  const bool owner_sends = p.world > 2;
  const auto output = [&](uint32_t r) { return p.peers[r] + p.recv_offset; };
  if (p.rank == p.root) {
    const Route route = {p.peers[p.rank] + p.send_offset, false, owner_sends, p.root, owner};
    return forward_block(p, route, chunks, order, epoch, [&](auto f) {
      if (owner != p.root) f(output(owner));
      if (p.send_offset != p.recv_offset) f(output(p.rank));
    });
  }
  if (p.rank == owner && owner_sends) {
    const Route route = {output(p.rank), true, false, p.root, p.rank};
    return forward_block(p, route, chunks, order, epoch, [&](auto f) {
      each_rank_from_next(p, [&](uint32_t r) {
        if (r != p.root && r != p.rank) f(output(r));
      });
    });
  }
  return true;
}

FORCE_INLINE __device__ void relay(const Params& p) {
  const NotifyOrder order;
  if (thread_id() == 0) order.set_next(0);
  Epochs epochs(p);
  const uint32_t epoch = epochs.next();
  if (!epochs.sync_first(p.world)) return;
  const Chunks chunks = {p.bytes, p.tile_bytes};
  if (!block_all(move_chunks(p, chunks, order, epoch + 1))) return;
  epochs.skip((uint32_t)chunks.count());
  epochs.sync_last(p.world, thread_id() == p.root ? 1 : 2);
}

ENTRY(broadcast_relay, relay)
