// allgather, by mailboxes: every rank stores its part to mailboxes of all peers, whose words are their own flags. There is no
// barrier, and no byte is sent twice.
//
// Algorithm, for each tile of this block:
//   1. store the tile of this rank's part to every peer, row by row (device/keyed_mailbox.cuh)
//   2. wait for each row from every peer, store it to that rank's part of the output
//
// Buffers: input and output are local and need no symmetric address. In place, the input is this rank's part of the output.
// The mailboxes are symmetric.
//
// Memory order: none beyond that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of at most kMaxBlocks blocks that are all
// resident, and blocks of a multiple of 32 threads; world tiles, with a vector more for each 32, fit into kMailboxSlotBytes.
// Any count and alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/copy.cuh"
#include "../device/entries.cuh"
#include "../device/keyed_mailbox.cuh"

template <int N>
FORCE_INLINE __device__ void lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  const Buffer input(base + p.send_offset, p.bytes);
  Epochs epochs(p);
  const auto load = [&](int64_t i, bool has) { return has ? input.load(i) : Vec{}; };
  const auto send = [&](const KeyedMailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    each_row(begin, end, [&](int64_t i, bool has) {
      mailboxes.send_row(p.rank, i - begin, has, load(i, has), [&](auto f) { each_peer<N>(p, f); });
    });
  };
  const auto receive = [&](KeyedMailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    each_row(begin, end, [&](int64_t i, bool has) {
      mailboxes.receive_rows(i - begin, has, load(i, has), [&](uint32_t r, Vec v) {
        if (has) store_bytes(Buffer(base + p.recv_offset + r * p.bytes, p.bytes), i, v);
      });
    });
  };
  exchange_mailboxes<N, KeyedMailboxes>(p, epochs, vecs_in(p.bytes), send, receive);
}

ENTRY(allgather_lamport, lamport<0>)
ENTRY(allgather_lamport_n2, lamport<2>)
ENTRY(allgather_lamport_n4, lamport<4>)
ENTRY(allgather_lamport_n8, lamport<8>)
