// broadcast, multimem: the root stores its input once, to the multicast address,
// and the switch delivers it to all.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. the root stores its input to the output's multicast address; what is not whole,
//      aligned vectors is stored to every rank
//   3. barrier again
//
// Buffers: the outputs lie in symmetric memory at the same offset, with a
// multicast address. Only the root's input is read. It may be the root's output, which
// then gets the same bytes again.
//
// Memory order: barrier 1 allows the outputs to be overwritten; the alias fence after it
// orders the stores to the multicast address. The alias fence before barrier 3 orders these
// stores before it; barrier 3 publishes them.
//
// The caller gives the same bytes, root and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/multicast_copy.cuh"

FORCE_INLINE __device__ void multimem(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  if (p.rank == p.root) multicast_copy(p, Buffer(p.peers[p.rank] + p.send_offset, p.bytes), p.recv_offset);
  epochs.sync_last(p.world);
}

ENTRY(broadcast_multimem, multimem)
