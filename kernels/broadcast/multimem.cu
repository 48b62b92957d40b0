// broadcast, multimem: the root stores its input once, to the multicast address,
// and the switch delivers it to all.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. the root stores its input to the output's multicast address; what is not
//      aligned to a vector goes to every rank one by one
//   3. barrier again
//
// Buffers: the outputs lie in symmetric memory at the same offset, with a
// multicast address; the input is the root's, and may be its output, which then
// gets the same bytes again.
//
// Memory order: barrier 1 says that the outputs may be overwritten, by whatever
// address after the alias fence behind it; barrier 3 publishes what the root
// pushed, by virtue of the fence before it.
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
