// allreduce, multimem two-shot: every rank loads its part of the reduction from
// the multicast address and stores it there; the switch adds and delivers.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. load every vector of this rank's 1/n part with multimem.ld_reduce, store it to
//      all ranks with multimem.st; elements outside of whole, aligned vectors are loaded
//      from, and stored to, every rank
//   3. barrier again
//
// Buffers: input and output lie in symmetric memory at the same offsets on all
// ranks, with a multicast address, and may be the same.
//
// Memory order: barrier 1 publishes the inputs and allows the outputs to be overwritten; the alias fence after it
// orders the loads from the multicast address. The alias fence before barrier 3 orders the stores to that address
// before it; barrier 3 publishes them.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_90 and up, f8 from sm_100a on, up to
// kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/multicast_reduce.cuh"

template <typename T, typename Op>
FORCE_INLINE __device__ void multimem_twoshot(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  const auto store_vec = [&](int64_t i, Vec v) { multicast_store(p.multicast + p.recv_offset + i * kVecBytes, v); };
  const auto store_element = [&](int64_t i, auto bits) {
    each_rank<0, 0>(p, [&](uint32_t r) { ((Global<decltype(bits)>)(p.peers[r] + p.recv_offset))[i] = bits; });
  };
  multicast_reduce<T, Op>(p, p.send_offset, p.rank, p.world, store_vec, store_element);
  epochs.sync_last(p.world);
}

MULTIMEM_REDUCTIONS(multimem_twoshot)
