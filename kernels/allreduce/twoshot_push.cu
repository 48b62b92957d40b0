// allreduce, two-shot by stores alone: every rank stores each peer's part of its input to that
// peer's scratch, reduces its own part, and stores the result to all ranks.
//
// Algorithm:
//   1. store the peers' parts of the input to their scratch
//   2. barrier with the same block of all ranks
//   3. reduce this rank's part of its own input and of the scratch, in rank order, and store it
//      to every rank's output
//   4. barrier again
//
// Links carry more when there are stores alone than with stores and loads at once
// (kernels/NOTES.md). That pays for the extra pass of every input through scratch.
//
// Buffers: input and output lie in symmetric memory at the same offsets on all ranks, and may
// be the same: after barrier 2 a rank reads only its own part of an input, which it alone
// writes. A rank's scratch has a slot for each peer's part.
//
// Memory order: barrier 2 publishes what was stored to scratch, and allows the outputs to be
// overwritten; barrier 4 publishes the results, and says that the slots have been read.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most kMaxBlocks
// blocks that are all resident, and blocks of a multiple of 32 threads. Any count and
// alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"
#include "../device/reduce.cuh"
#include "../device/scratch_slots.cuh"

// The scratch slots of a rank, for `vecs` vectors in all parts together.
FORCE_INLINE __device__ ScratchSlots slots_of(const Params& p, uint32_t owner, int64_t vecs) {
  return ScratchSlots(p, owner, (vecs + p.world - 1) / p.world);
}

// Step 1. A vector that a block stores is reduced by the block of the same number.
FORCE_INLINE __device__ void push_parts(const Params& p, const Buffer& send) {
  const int64_t vecs = vecs_in(p.bytes);
  each_rank_from_next(p, [&](uint32_t r) {
    if (r == p.rank) return;
    const Range part = part_of(vecs, 1, r, p.world);
    const uint64_t slot = slots_of(p, r, vecs).of(p.rank);
    each_vec(send, part.begin, part.end, [&](int64_t i, Vec v) { st(slot + (i - part.begin) * kVecBytes, v); });
  });
}

// Loads of a thread in flight from every rank.
template <int N>
constexpr int kInFlight = N == 2 ? 4 : N == 4 ? 2 : 1;

// Step 3.
template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void reduce_and_push(const Params& p, const Buffer& send) {
  const int64_t vecs = vecs_in(p.bytes);
  const Range part = part_of(vecs, 1, p.rank, world_size<N>(p));
  const ScratchSlots slots = slots_of(p, p.rank, vecs);
  const auto from_all = [&](int64_t i) {
    const Vec own = send.load(i);
    return reduce_loaded<T, Op, N>(
        p, [&](uint32_t r) { return r == p.rank ? own : ld(slots.of(r) + (i - part.begin) * kVecBytes); });
  };
  const int64_t whole = Buffer(p.peers[p.rank] + p.recv_offset, p.bytes).whole;
  const auto to_all = [&](int64_t offset, int64_t i, Vec v) {
    const auto at = [&](uint32_t r) { return p.peers[r] + offset + i * kVecBytes; };
    if (i < whole)
      each_rank<N, 0>(p, [&](uint32_t r) { st(at(r), v); });
    else
      each_rank<0, 0>(p, [&](uint32_t r) { st_any<sizeof(typename T::Bits)>(at(r), v, p.bytes - i * kVecBytes); });
  };
  Epilogue::template run<kMaxRowVecs, kInFlight<N>>(p, whole_grid(), part.begin, part.end, from_all, to_all);
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot_push(const Params& p) {
  const Buffer send(p.peers[p.rank] + p.send_offset, p.bytes);
  Epochs epochs(p);
  push_parts(p, send);
  if (!epochs.sync(kStageBarrier, world_size<N>(p))) return;
  reduce_and_push<T, Op, N, Epilogue>(p, send);
  epochs.sync_last(world_size<N>(p));
}

REDUCTIONS(twoshot_push)
