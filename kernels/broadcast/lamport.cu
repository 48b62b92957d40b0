// broadcast, by mailboxes: the root stores its input to mailboxes of all peers, whose words are their own flags.
// There is no barrier, and no byte is sent twice.
//
// Algorithm, buffers, memory order, and what the caller gives: device/row_exchange.cuh.
// In place, the root's output is its input.

#include "../device/entries.cuh"
#include "../device/row_exchange.cuh"

template <int N>
FORCE_INLINE __device__ void lamport(const Params& p) {
  exchange_rows<N, Route::kFromRoot, Parts::kOne, Parts::kOne>(p);
}

ENTRY(broadcast_lamport, lamport<0>)
ENTRY(broadcast_lamport_n2, lamport<2>)
ENTRY(broadcast_lamport_n4, lamport<4>)
ENTRY(broadcast_lamport_n8, lamport<8>)
