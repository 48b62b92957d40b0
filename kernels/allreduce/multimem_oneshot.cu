// allreduce, multimem one-shot: every rank loads the whole reduction from the
// multicast address; the switch adds.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. load every vector with multimem.ld_reduce, store it to the output; elements
//      outside of whole, aligned vectors are loaded from every rank and reduced here
//   3. barrier again
//
// Buffers: the inputs lie in symmetric memory at the same offset, with a multicast
// address; the output is local and must not be an input, which others still read.
//
// Memory order: barrier 1 publishes the inputs; the alias fence after it orders the loads from the multicast
// address. The alias fence before barrier 3 orders these loads before it: the inputs may then be overwritten.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_90 and up, f8 from sm_100a on, up to
// kMaxRanks ranks. All ranks get the same bits only if the switch always adds in the
// same order.

#include "../device/entries.cuh"
#include "../device/multicast_reduce.cuh"

template <typename T, typename Op>
FORCE_INLINE __device__ void multimem_oneshot(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  const auto store = [&](int64_t i, auto chunk) {
    ((Global<decltype(chunk)>)(p.peers[p.rank] + p.recv_offset))[i] = chunk;
  };
  multicast_reduce<T, Op>(p, p.send_offset, 0, 1, store, store);
  epochs.sync_last(p.world);
}

MULTIMEM_REDUCTIONS(multimem_oneshot)
