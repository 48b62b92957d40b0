// allreduce, one-shot: every rank stages its input where peers can read it and
// pulls everybody's.
//
// Algorithm, for each tile that falls to this block:
//   1. copy the tile of the own input to the own scratch slot
//   2. meet the same block of all ranks
//   3. load the tile from every rank's slot, reduce in rank order, store to the output
//
// Buffers: input and output are local, may be the same, and need no symmetric
// address. The scratch is symmetric: two slots of kSlotBytes per block, used in
// turn by the parity of the epoch. A slot's place depends on the block alone, so
// that launches with other grids and tiles may follow each other.
//
// Memory order: the barrier of step 2 publishes step 1. No closing barrier: a
// slot is written again two epochs later, and to get there the block has passed
// a barrier at which all peers had finished reading it.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads. Any count and alignment; an epilogue by rows takes aligned buffers
// and tiles of whole rows. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/early.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void oneshot(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  using Store = typename Epilogue::Store;
  Early<Store> send(p, Store(base + p.send_offset, p.bytes));
  const int64_t tile = whole_vecs_in(p.tile_bytes), vecs = vecs_in(p.bytes);
  Epochs epochs(p);
  send.fetch();
  for (int64_t first = block_id() * tile; first < vecs; first += grid_blocks() * tile) {
    const int64_t end = first + tile < vecs ? first + tile : vecs;
    const int64_t slot = p.scratch_offset + (int64_t)(2 * block_id() + epochs.next() % 2) * kSlotBytes;
    for (int64_t i = first + thread_id(); i < end; i += block_threads())
      st(base + slot + (i - first) * kVecBytes, send.load(i));
    if (!epochs.meet(kStageBarrier, world_size<N>(p))) return;

    const auto from_all = [&](int64_t i) {
      return reduce_loaded<T, Op, N>(p, [&](uint32_t r) { return ld(p.peers[r] + slot + (i - first) * kVecBytes); });
    };
    const auto store = [&](int64_t offset, int64_t i, Vec v) {
      Store(base + offset, p.bytes).template store<sizeof(typename T::Bits)>(i, v);
    };
    Epilogue::drive(p, kAlone, first, end, from_all, store);
  }
  epochs.save();
}

ALLREDUCES(oneshot)
