// reducescatter, pull: every rank loads its part of all inputs and reduces them.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. load this rank's part of every rank's input, reduce in rank order, store to the output
//   3. barrier again
//
// Buffers: the inputs lie in symmetric memory at the same offset and hold a part
// for each rank; the output is local. In place, the output is this rank's part of its
// own input, which no other rank reads.
//
// Memory order: barrier 1 publishes the inputs; barrier 3 says that they have been read.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment; aligned buffers run on vectors. sm_80 and up,
// up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"

// Loads of a thread in flight from every rank: more where there is one peer to load from.
template <int N>
constexpr int kInFlight = N == 2 ? 4 : 1;

// Reduces chunks [begin, end) of the part, vectors or elements.
template <typename Chunk, typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void pull_chunks(const Params& p, int64_t begin, int64_t end) {
  const int64_t part = p.send_offset + p.rank * p.bytes;
  const auto from_all = [&](int64_t i) {
    return reduce_loaded<T, Op, N>(p, [&](uint32_t r) { return ((Global<const Chunk>)(p.peers[r] + part))[i]; });
  };
  const auto store = [&](int64_t offset, int64_t i, Chunk c) { ((Global<Chunk>)(p.peers[p.rank] + offset))[i] = c; };
  Epilogue::template run<kMaxRowVecs, kInFlight<N>>(p, whole_grid(), begin, end, from_all, store);
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void pull(const Params& p) {
  using Bits = typename T::Bits;
  Epochs epochs(p);
  if (!epochs.sync_first(world_size<N>(p))) return;
  const bool aligned = is_aligned(p.send_offset + p.rank * p.bytes) && is_aligned(p.recv_offset);
  const int64_t vecs = aligned ? p.bytes / kVecBytes : 0;
  constexpr int64_t kPerVec = kVecBytes / sizeof(Bits);
  pull_chunks<Vec, T, Op, N, Epilogue>(p, 0, vecs);
  pull_chunks<Bits, T, Op, 0, Epilogue>(p, vecs * kPerVec, p.bytes / sizeof(Bits)); // the last elements, or all of an unaligned buffer
  epochs.sync_last(world_size<N>(p));
}

REDUCTIONS(pull)
