// allreduce, one-shot: every rank stages its input in its scratch, and loads and reduces the staged inputs of all ranks.
//
// Algorithm, for each tile of this block:
//   1. copy the tile of the input to this block's slot of this rank's scratch
//   2. barrier with the same block of all ranks
//   3. load the tile from every rank's slot, reduce in rank order, store to the output
//
// Buffers: input and output are local, may be the same, and need no symmetric
// address. The scratch is symmetric: two slots of kSlotBytes per block, used in
// turn by the parity of the epoch. The offset of a slot depends only on the block, so
// that launches with other grids and tiles may follow each other.
//
// Memory order: barrier 2 publishes step 1. There is no closing barrier: a slot is
// written again two epochs later, and the barrier of the epoch in between says that
// all peers have read it.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads. Any count and alignment; an epilogue by rows takes aligned buffers
// and tiles of whole rows. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/prefetch.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void oneshot(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  using Store = typename Epilogue::Store;
  Prefetched<Store> send(p, Store(base + p.send_offset, p.bytes));
  const int64_t tile = whole_vecs_in(p.tile_bytes), vecs = vecs_in(p.bytes);
  Epochs epochs(p);
  send.prefetch();
  for (int64_t first = block_id() * tile; first < vecs; first += grid_blocks() * tile) {
    const int64_t end = first + tile < vecs ? first + tile : vecs;
    const int64_t slot = p.scratch_offset + (int64_t)(2 * block_id() + epochs.next() % 2) * kSlotBytes;
    for (int64_t i = first + thread_id(); i < end; i += block_threads())
      st(base + slot + (i - first) * kVecBytes, send.load(i));
    if (!epochs.sync(kStageBarrier, world_size<N>(p))) return;

    const auto from_all = [&](int64_t i) {
      return reduce_loaded<T, Op, N>(p, [&](uint32_t r) { return ld(p.peers[r] + slot + (i - first) * kVecBytes); });
    };
    const auto store = [&](int64_t offset, int64_t i, Vec v) {
      Store(base + offset, p.bytes).template store<sizeof(typename T::Bits)>(i, v);
    };
    Epilogue::run(p, kSingleBlock, first, end, from_all, store);
  }
  epochs.save();
}

ALLREDUCES(oneshot)
