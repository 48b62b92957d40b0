// allreduce, naive: copy every rank's input to local memory, reduce in rank order.
//
// Algorithm, for each chunk of the data; the host side enqueues the steps:
//   1. meet all ranks (kernel naive_meet)
//   2. copy the chunk of every rank's input to the own scratch (memory copies)
//   3. meet all ranks
//   4. reduce the copies, store to the output (kernels naive_sum, naive_prod, ...)
//
// Buffers: the scratch is local: chunk copies of tile_bytes bytes each, one per
// rank. The input lies in symmetric memory; the output is local and may be the
// input: a chunk is overwritten only after step 3, when all have copied it.
//
// Memory order: the barriers of steps 1 and 3 order the copies of a stream like
// any of its work: a kernel starts after the copies before it are complete and
// copies start after the kernel before them is complete.
//
// The caller launches naive_meet as one block of at least 32 threads, and
// the others with any grid, the same on all ranks. Any count and alignment.
// sm_80 and up, up to kMaxRanks ranks. In step 4, recv_offset and count are
// the chunk's, and tile_bytes is the distance between copies, a multiple of 16.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"

FORCE_INLINE __device__ void meet(const Params& p) {
  Epochs epochs(p);
  if (!epochs.meet((Phase)p.phase, p.world)) return;
  epochs.save();
}

template <typename T, typename Op>
FORCE_INLINE __device__ void reduce(const Params& p) {
  using Bits = typename T::Bits;
  const uint64_t base = p.peers[p.rank];
  const uint64_t copies = base + p.scratch_offset;
  auto out = (Global<Bits>)(base + p.recv_offset);
  const int64_t step = grid_blocks() * block_threads();
  for (int64_t i = block_id() * block_threads() + thread_id(); i < p.count; i += step)
    out[i] = reduce_element<T, Op, 0>(p, [&](uint32_t r) { return copies + r * p.tile_bytes + i * sizeof(Bits); });
}

ENTRY(naive_meet, meet)
ENTRY(naive_sum, (reduce<ELEMENT, Sum>))
ENTRY(naive_prod, (reduce<ELEMENT, Prod>))
ENTRY(naive_min, (reduce<ELEMENT, Min>))
ENTRY(naive_max, (reduce<ELEMENT, Max>))
ENTRY(naive_avg, (reduce<ELEMENT, Avg>))
