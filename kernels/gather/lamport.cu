// gather, by mailboxes: every rank stores its input to mailboxes of the root, whose words are their own flags.
// There is no barrier, and no byte is sent twice.
//
// Algorithm, buffers, memory order, and what the caller gives: device/row_exchange.cuh.
// In place, the root's input is its own part of the output.

#include "../device/entries.cuh"
#include "../device/row_exchange.cuh"

template <int N>
FORCE_INLINE __device__ void lamport(const Params& p) {
  exchange_rows<N, Route::kToRoot, Parts::kOne, Parts::kPerRank>(p);
}

ENTRY(gather_lamport, lamport<0>)
ENTRY(gather_lamport_n2, lamport<2>)
ENTRY(gather_lamport_n4, lamport<4>)
ENTRY(gather_lamport_n8, lamport<8>)
