// allgather, multimem: every rank stores its part once, to the multicast address,
// and the switch delivers it to all.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. store this rank's part to the multicast address of its part of the outputs; what is
//      not whole, aligned vectors is stored to every rank
//   3. barrier again
//
// Buffers: the outputs lie in symmetric memory at the same offset, with a
// multicast address; the input is local. In place, the input is this rank's part of
// the output, which then gets the same bytes again.
//
// Memory order: as in push.cu; alias fences order the stores to the multicast address
// after barrier 1 and before barrier 3.
//
// The caller gives the same bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/multicast_copy.cuh"

FORCE_INLINE __device__ void multimem(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first(p.world)) return;
  const Buffer from(p.peers[p.rank] + p.send_offset, p.bytes);
  multicast_copy(p, from, p.recv_offset + p.rank * p.bytes);
  epochs.sync_last(p.world);
}

ENTRY(allgather_multimem, multimem)
