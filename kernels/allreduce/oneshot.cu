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
// The caller gives the same count, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of at least 32
// threads. Any count and alignment; 16-byte aligned buffers run on vectors.
// sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"

// Elements [0, vecs * kPerVec) of a tile go as vectors, the rest one by one.
template <typename T>
struct Tile {
  using Bits = typename T::Bits;
  uint64_t send, recv;
  int64_t elements, vecs;

  FORCE_INLINE __device__ Tile(const Params& p, int64_t index) {
    int64_t first = index * (p.tile_bytes / sizeof(Bits));
    int64_t left = p.count - first, most = p.tile_bytes / sizeof(Bits);
    send = p.peers[p.rank] + p.send_offset + first * sizeof(Bits);
    recv = p.peers[p.rank] + p.recv_offset + first * sizeof(Bits);
    elements = left < most ? left : most;
    vecs = (send | recv) % kVecBytes == 0 ? elements / kPerVec<T> : 0;
  }
};

template <typename T>
FORCE_INLINE __device__ void stage(const Tile<T>& tile, uint64_t slot) {
  using Bits = typename T::Bits;
  auto from = (Global<const Vec>)tile.send;
  auto to = (Global<Vec>)slot;
  for (int64_t i = thread_id(); i < tile.vecs; i += block_threads()) to[i] = from[i];

  auto from_one = (Global<const Bits>)tile.send;
  auto to_one = (Global<Bits>)slot;
  for (int64_t i = tile.vecs * kPerVec<T> + thread_id(); i < tile.elements; i += block_threads())
    to_one[i] = from_one[i];
}

template <typename T, typename Op, int N>
FORCE_INLINE __device__ void pull(const Params& p, const Tile<T>& tile, int64_t slot_offset) {
  using Bits = typename T::Bits;
  auto to = (Global<Vec>)tile.recv;
  for (int64_t i = thread_id(); i < tile.vecs; i += block_threads())
    to[i] = reduce_vec<T, Op, N>(p, [&](uint32_t r) { return p.peers[r] + slot_offset + i * kVecBytes; });

  auto to_one = (Global<Bits>)tile.recv;
  for (int64_t i = tile.vecs * kPerVec<T> + thread_id(); i < tile.elements; i += block_threads())
    to_one[i] = reduce_element<T, Op, N>(p, [&](uint32_t r) { return p.peers[r] + slot_offset + i * sizeof(Bits); });
}

template <typename T, typename Op, int N>
FORCE_INLINE __device__ void oneshot(const Params& p) {
  using Bits = typename T::Bits;
  Epochs epochs(p);
  for (int64_t t = block_id(); t * p.tile_bytes < p.count * (int64_t)sizeof(Bits); t += grid_blocks()) {
    Tile<T> tile(p, t);
    int64_t slot = p.scratch_offset + (int64_t)(2 * block_id() + epochs.next() % 2) * kSlotBytes;
    stage(tile, p.peers[p.rank] + slot);
    if (!epochs.meet(kStageBarrier, world_size<N>(p))) return;
    pull<T, Op, N>(p, tile, slot);
  }
  epochs.save();
}

ENTRIES(oneshot)
