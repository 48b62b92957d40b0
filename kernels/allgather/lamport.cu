// allgather, by mailboxes: every rank stores its part to mailboxes of all peers, whose words are their own flags.
// There is no barrier, and no byte is sent twice.
//
// Algorithm, buffers, memory order, and what the caller gives: device/row_exchange.cuh.
// In place, the input is this rank's part of the output.

#include "../device/entries.cuh"
#include "../device/row_exchange.cuh"

template <int N>
FORCE_INLINE __device__ void lamport(const Params& p) {
  exchange_rows<N, Route::kAllToAll, Parts::kOne, Parts::kPerRank>(p);
}

ENTRY(allgather_lamport, lamport<0>)
ENTRY(allgather_lamport_n2, lamport<2>)
ENTRY(allgather_lamport_n4, lamport<4>)
ENTRY(allgather_lamport_n8, lamport<8>)
