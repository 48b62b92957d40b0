// allreduce, two-shot: every rank loads and reduces its part of all inputs, and stores the
// result to all ranks.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. load this rank's 1/n part of every rank's input, reduce in rank order, store
//      the results to every rank's output
//   3. barrier again
//
// Buffers: input and output lie in symmetric memory at the same offsets on all
// ranks, and may be the same: a rank reads a vector of its part before it overwrites it,
// and no other rank accesses that part.
//
// Memory order: barrier 1 publishes the inputs, which the stream wrote before the
// launch, and allows the outputs to be overwritten. Barrier 3 publishes the stored
// results and says that this block reads no more.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment; an epilogue by rows takes aligned buffers
// and whole rows. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"
#include "../device/reduce.cuh"

// Loads of a thread in flight from every rank: more where there are fewer peers to load from.
template <int N>
constexpr int kInFlight = N == 2 ? 4 : N == 4 ? 2 : 1;

// Reduces this rank's part of chunks [begin, end), vectors or elements, and stores the
// results to all ranks.
template <typename Chunk, typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void reduce_and_push(const Params& p, int64_t begin, int64_t end, int64_t row) {
  const auto from_all = [&](int64_t i) {
    return reduce_loaded<T, Op, N>(
        p, [&](uint32_t r) { return ((Global<const Chunk>)(p.peers[r] + p.send_offset))[i]; });
  };
  const auto to_all = [&](int64_t offset, int64_t i, Chunk c) {
    each_rank<N, 0>(p, [&](uint32_t r) { ((Global<Chunk>)(p.peers[r] + offset))[i] = c; });
  };
  const Range part = part_of(end - begin, row, p.rank, world_size<N>(p));
  Epilogue::template run<kMaxRowVecs, kInFlight<N>>(p, whole_grid(), begin + part.begin, begin + part.end, from_all, to_all);
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(world_size<N>(p))) return;
  const bool aligned = is_aligned(p.send_offset) && is_aligned(p.recv_offset);
  const int64_t vecs = aligned ? p.bytes / kVecBytes : 0;
  reduce_and_push<Vec, T, Op, N, Epilogue>(p, 0, vecs, Epilogue::kByRow ? p.row_bytes / kVecBytes : 1);
  if constexpr (!Epilogue::kByRow) {
    using Bits = typename T::Bits;
    constexpr int64_t kPerVec = kVecBytes / sizeof(Bits);
    reduce_and_push<Bits, T, Op, 0, Epilogue>(p, vecs * kPerVec, p.bytes / sizeof(Bits), 1); // the last elements, or all of an unaligned buffer
  }
  epochs.sync_last(world_size<N>(p));
}

ALLREDUCES(twoshot)
