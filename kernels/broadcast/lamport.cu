// broadcast, by mailboxes: the root stores its input to mailboxes of all peers, whose words are their own flags. There is no
// barrier, and no byte is sent twice.
//
// Algorithm, for each tile of this block:
//   1. the root stores the tile to every peer, row by row (device/keyed_mailbox.cuh); every other rank stores one vector of any
//      content, vector 0, to every peer
//   2. the root copies its input to its output; the others wait for each row from the root and store it to the output; all
//      wait for vector 0 from every rank but the root
//
// Why all ranks send vector 0: the slots need it. In each epoch a rank receives from all others (device/mailbox.cuh). These
// vectors travel beside the data and take no trip of their own.
//
// Buffers: input and output are local and need no symmetric address. Only the root's input is read, and it may be the root's
// output. The mailboxes are symmetric.
//
// Memory order: none beyond that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes, root and grid on all ranks, a grid of at most kMaxBlocks blocks that are all
// resident, and blocks of a multiple of 32 threads; world tiles, with a vector more for each 32, fit into kMailboxSlotBytes.
// Any count and alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/copy.cuh"
#include "../device/entries.cuh"
#include "../device/keyed_mailbox.cuh"

template <int N>
FORCE_INLINE __device__ void lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  const Buffer input(base + p.send_offset, p.bytes), output(base + p.recv_offset, p.bytes);
  const bool is_root = p.rank == p.root;
  const bool is_witness = thread_id() == kRowLanes - 1; // sends and receives vector 0: the first lane has a key to handle
  Epochs epochs(p);
  const auto to_peers = [&](auto f) { each_peer<N>(p, f); };
  const auto send = [&](const KeyedMailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    if (is_root)
      each_row(begin, end, [&](int64_t i, bool has) {
        mailboxes.send_row(p.rank, i - begin, has, has ? input.load(i) : Vec{}, to_peers);
      });
    else if (is_witness)
      to_peers([&](uint32_t peer) { mailboxes.send(peer, p.rank, 0, Vec{}); });
  };
  const auto receive = [&](KeyedMailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    each_row(begin, end, [&](int64_t i, bool has) {
      const Vec v = is_root ? has ? input.load(i) : Vec{} : mailboxes.receive_row(p.root, i - begin, has);
      if (has) store_bytes(output, i, v);
    });
    const auto expected = [&](uint32_t r) { return r != p.rank && r != p.root; };
    if (is_witness) mailboxes.receive_some(0, 0, expected, [](uint32_t, Vec) {});
  };
  exchange_mailboxes<N, KeyedMailboxes>(p, epochs, vecs_in(p.bytes), send, receive);
}

ENTRY(broadcast_lamport, lamport<0>)
ENTRY(broadcast_lamport_n2, lamport<2>)
ENTRY(broadcast_lamport_n4, lamport<4>)
ENTRY(broadcast_lamport_n8, lamport<8>)
