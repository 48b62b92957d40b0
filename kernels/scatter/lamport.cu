// scatter, by mailboxes: the root stores each peer's part to mailboxes of that peer, whose words are their own flags.
// There is no barrier, and no byte is sent twice.
//
// Algorithm, buffers, memory order, and what the caller gives: device/row_exchange.cuh.
// In place, the root's output is its own part of the input.

#include "../device/entries.cuh"
#include "../device/row_exchange.cuh"

template <int N>
FORCE_INLINE __device__ void lamport(const Params& p) {
  exchange_rows<N, Route::kFromRoot, Parts::kPerRank, Parts::kOne>(p);
}

ENTRY(scatter_lamport, lamport<0>)
ENTRY(scatter_lamport_n2, lamport<2>)
ENTRY(scatter_lamport_n4, lamport<4>)
ENTRY(scatter_lamport_n8, lamport<8>)
