// allreduce, multimem one-shot: every rank loads the whole reduction from the
// multicast address; the switch adds.
//
// Algorithm:
//   1. meet the same block of all ranks
//   2. load every vector with multimem.ld_reduce, store it to the output; what is
//      not aligned to a vector is loaded from every rank and reduced here
//   3. meet again
//
// Buffers: the inputs lie in symmetric memory at the same offset, with a multicast
// address; the output is local and must not be an input, which others still read.
//
// Memory order: barrier 1 publishes the inputs, the alias fence behind it orders
// the loads from the multicast address; the fence before barrier 3 lets that say that they have been read.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_90 and up, f8 from sm_100a on, up to
// kMaxRanks ranks. All ranks get the same bits where the switch always adds in the
// same order.

#include "../device/entries.cuh"
#include "../device/multireduce.cuh"

template <typename T, typename Op>
FORCE_INLINE __device__ void multimem_oneshot(const Params& p) {
  Epochs epochs(p);
  if (!epochs.start(p.world)) return;
  const auto store = [&](int64_t i, auto chunk) {
    ((Global<decltype(chunk)>)(p.peers[p.rank] + p.recv_offset))[i] = chunk;
  };
  multicast_reduce<T, Op>(p, p.send_offset, 0, 1, store, store);
  epochs.finish(p.world);
}

MULTIMEM_REDUCTIONS(multimem_oneshot)
