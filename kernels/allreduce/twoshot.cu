// allreduce, two-shot: every rank reduces its own part of the data and pushes the
// result to all.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. load the own 1/n part from every rank's input, reduce in rank order, store
//      the results to every rank's output
//   3. meet again
//
// Buffers: input and output lie in symmetric memory at the same offsets on all
// ranks, and may be the same: a rank reads a place of its part before it writes
// there, and no other rank touches that part.
//
// Memory order: barrier 1 publishes the inputs, which the stream wrote before
// the launch, and says that the outputs may be overwritten. Barrier 3 publishes
// what this block pushed and says that it will read no more.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment; an epilogue by rows takes aligned buffers
// and whole rows. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"
#include "../device/reduce.cuh"

// How many chunks a thread has on their way from every rank: the fewer peers there are to load
// from, the more.
template <int N>
constexpr int kInFlight = N == 2 ? 4 : N == 4 ? 2 : 1;

// Reduces chunks [begin, end) of the data, vectors or elements, and pushes the
// results to all.
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
  Epilogue::template drive<kMaxRowVecs, kInFlight<N>>(p, whole_grid(), begin + part.begin, begin + part.end, from_all, to_all);
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot(const Params& p) {
  Epochs epochs(p);
  if (!epochs.start(world_size<N>(p))) return;
  const bool aligned = is_aligned(p.send_offset) && is_aligned(p.recv_offset);
  const int64_t vecs = aligned ? p.bytes / kVecBytes : 0;
  reduce_and_push<Vec, T, Op, N, Epilogue>(p, 0, vecs, Epilogue::kByRow ? p.row_bytes / kVecBytes : 1);
  if constexpr (!Epilogue::kByRow) {
    using Bits = typename T::Bits;
    constexpr int64_t kPerVec = kVecBytes / sizeof(Bits);
    reduce_and_push<Bits, T, Op, 0, Epilogue>(p, vecs * kPerVec, p.bytes / sizeof(Bits), 1); // few, or not aligned
  }
  epochs.finish(world_size<N>(p));
}

ALLREDUCES(twoshot)
