// allreduce, multimem two-shot: every rank loads its part of the reduction from
// the multicast address and stores it there; the switch adds and delivers.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. load every vector of the own 1/n part with multimem.ld_reduce, store it to
//      all with multimem.st; what is not aligned to a vector is loaded from, and
//      stored to, every rank
//   3. meet again
//
// Buffers: input and output lie in symmetric memory at the same offsets on all
// ranks, with a multicast address, and may be the same.
//
// Memory order: barrier 1 publishes the inputs and says that the outputs may be
// overwritten, the alias fence behind it orders the loads from the multicast
// address; the fence before barrier 3 puts the stores to it before the barrier.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_90 and up, f8 from sm_100a on, up to
// kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/multireduce.cuh"

template <typename T, typename Op>
FORCE_INLINE __device__ void multimem_twoshot(const Params& p) {
  Epochs epochs(p);
  if (!epochs.start(p.world)) return;
  const auto store_vec = [&](int64_t i, Vec v) { multicast_store(p.multicast + p.recv_offset + i * kVecBytes, v); };
  const auto store_element = [&](int64_t i, auto bits) {
    each_rank<0, 0>(p, [&](uint32_t r) { ((Global<decltype(bits)>)(p.peers[r] + p.recv_offset))[i] = bits; });
  };
  multicast_reduce<T, Op>(p, p.send_offset, p.rank, p.world, store_vec, store_element);
  epochs.finish(p.world);
}

MULTIMEM_REDUCTIONS(multimem_twoshot)
