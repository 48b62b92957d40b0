// alltoall, by mailboxes: every rank stores each peer's part to mailboxes of that peer, whose words are their own flags.
// There is no barrier, and no byte is sent twice.
//
// Algorithm, buffers, memory order, and what the caller gives: device/row_exchange.cuh.
// Input and output must not be the same.

#include "../device/entries.cuh"
#include "../device/row_exchange.cuh"

template <int N>
FORCE_INLINE __device__ void lamport(const Params& p) {
  exchange_rows<N, Route::kAllToAll, Parts::kPerRank, Parts::kPerRank>(p);
}

ENTRY(alltoall_lamport, lamport<0>)
ENTRY(alltoall_lamport_n2, lamport<2>)
ENTRY(alltoall_lamport_n4, lamport<4>)
ENTRY(alltoall_lamport_n8, lamport<8>)
