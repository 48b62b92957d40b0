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
// The caller gives the same count and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of at least 32 threads.
// Any count and alignment; 16-byte aligned buffers run on vectors. sm_80 and
// up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"

struct Range {
  int64_t begin, end;
};

// The rank's part of items that are split as evenly as can be.
FORCE_INLINE __device__ Range part_of(int64_t items, uint32_t rank, uint32_t world) {
  return {items * rank / world, items * (rank + 1) / world};
}

template <typename T, typename Op, int N>
FORCE_INLINE __device__ void reduce_and_push(const Params& p) {
  using Bits = typename T::Bits;
  const uint32_t world = world_size<N>(p);
  const int64_t first = block_id() * block_threads() + thread_id();
  const int64_t step = grid_blocks() * block_threads();

  const bool aligned = (p.send_offset | p.recv_offset) % kVecBytes == 0;
  const int64_t vecs = aligned ? p.count / kPerVec<T> : 0;
  Range part = part_of(vecs, p.rank, world);
  for (int64_t i = part.begin + first; i < part.end; i += step) {
    const int64_t at = i * kVecBytes;
    Vec result = reduce_vec<T, Op, N>(p, [&](uint32_t r) { return p.peers[r] + p.send_offset + at; });
#pragma unroll
    for (uint32_t r = 0; r < world; r++) *(Global<Vec>)(p.peers[r] + p.recv_offset + at) = result;
  }

  const int64_t in_vecs = vecs * kPerVec<T>;
  part = part_of(p.count - in_vecs, p.rank, world);
  for (int64_t i = part.begin + first; i < part.end; i += step) {
    const int64_t at = (in_vecs + i) * sizeof(Bits);
    Bits result = reduce_element<T, Op, N>(p, [&](uint32_t r) { return p.peers[r] + p.send_offset + at; });
    for (uint32_t r = 0; r < world; r++) *(Global<Bits>)(p.peers[r] + p.recv_offset + at) = result;
  }
}

template <typename T, typename Op, int N>
FORCE_INLINE __device__ void twoshot(const Params& p) {
  Epochs epochs(p);
  if (!epochs.meet(kStartBarrier, world_size<N>(p))) return;
  reduce_and_push<T, Op, N>(p);
  if (!epochs.meet(kEndBarrier, world_size<N>(p))) return;
  epochs.save();
}

ENTRIES(twoshot)
