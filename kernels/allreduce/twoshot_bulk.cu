// allreduce, two-shot by bulk copies: every rank reduces its own part of the data and
// stores the result to all.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. one thread copies chunks of the own 1/n part of every rank's input to shared
//      memory; all reduce them there, in rank order; the thread copies the results to every
//      rank's output, beginning with the next rank's; what is not whole aligned vectors
//      goes by ordinary loads and stores
//   3. meet again
//
// Buffers: input and output lie in symmetric memory at the same offsets on all
// ranks, and may be the same: a rank reads a place of its part before it writes
// there, and no other rank touches that part.
//
// Memory order: barrier 1 publishes the inputs and says that the outputs may be
// overwritten. The thread waits until its stores have been written before barrier 3
// publishes them and says that the inputs have been read.
//
// The caller gives the same bytes, tile_bytes of which world fit into kBulkStageBytes,
// and grid on all ranks, a grid of at most kMaxBlocks blocks that are all resident,
// blocks of a multiple of 32 threads, and kBulkSharedBytes of shared memory. Any count
// and alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/bulkreduce.cuh"
#include "../device/entries.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot_bulk(const Params& p) {
  Epochs epochs(p);
  if (!epochs.meet(kStartBarrier, world_size<N>(p))) return;
  const auto own_part = [&](int64_t items) { return part_of(items, 1, p.rank, world_size<N>(p)); };
  const auto outputs = [&](auto f) { each_rank_from_next(p, [&](uint32_t r) { f(p.peers[r] + p.recv_offset); }); };
  bulk_reduce_share<T, Op, N>(p, own_part, outputs);
  if (epochs.meet(kEndBarrier, world_size<N>(p))) epochs.save();
}

REDUCTIONS(twoshot_bulk)
