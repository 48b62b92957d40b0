// reduce, bulk: every rank but the root reduces its share of the data and stores the
// result to the root, by bulk copies, so that no link carries more than the data once.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. every rank but the root: one thread copies chunks of the own 1/(n-1) share of
//      every rank's input to shared memory; all reduce them there, in rank order; the
//      thread copies the results to the root's output; what is not whole aligned vectors
//      goes by ordinary loads and stores
//   3. meet again
//
// Buffers: inputs, and the root's output, lie in symmetric memory at the same
// offsets on all ranks. The root's output may be its input: who writes a place of
// it has read it, and nobody else does.
//
// Memory order: barrier 1 publishes the inputs, and says that the output may be
// overwritten. The thread waits until its stores have been written before barrier 3
// publishes them and says that the inputs have been read.
//
// The caller gives the same bytes, tile_bytes of which world fit into kBulkStageBytes,
// root and grid on all ranks, a grid of at most kMaxBlocks blocks that are all
// resident, blocks of a multiple of 32 threads, and kBulkSharedBytes of shared memory. Any
// count and alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/bulkreduce.cuh"
#include "../device/entries.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void bulk(const Params& p) {
  Epochs epochs(p);
  if (!epochs.meet(kStartBarrier, world_size<N>(p))) return;
  bulk_reduce_share<T, Op, N>(
      p, [&](int64_t items) { return share_beside_root(items, p); },
      [&](auto f) { f(p.peers[p.root] + p.recv_offset); });
  if (epochs.meet(kEndBarrier, world_size<N>(p))) epochs.save();
}

REDUCTIONS(bulk)
