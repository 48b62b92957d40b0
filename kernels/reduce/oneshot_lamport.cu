// reduce, one-shot by mailboxes: every rank stores its input to mailboxes of the root, and the root reduces what it
// receives. There is no barrier, as in ll, but each byte crosses a link once, not twice.
//
// Algorithm, for each tile of this block:
//   1. every rank but the root stores the tile of its input to its mailbox on the root; every rank stores vector 0 of its
//      tile to its mailbox on every peer
//   2. the root waits for each vector from every peer, reduces in rank order, and stores to the output; the others wait for
//      vector 0 from every peer
//
// Why vector 0 goes to all ranks: a slot may be written again two epochs later, by a rank that has received from all ranks in
// the epoch in between (mailbox.cuh). Ranks other than the root ignore the data of vector 0.
//
// Buffers: input and output are local, may be the same, and need no symmetric address: a thread has read a vector of the
// input before it overwrites it. Only the root's output is written. The mailboxes are symmetric; see mailbox.cuh.
//
// Memory order: none beyond that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes, root and grid on all ranks, a grid of at most kMaxBlocks blocks that are all
// resident, and blocks of a multiple of 32 threads; world tiles fit into kMailboxSlotBytes. Any count and alignment. Floats
// of up to 32 bits. sm_90 and up, up to kMaxRanks ranks.

#include "../device/prefetch.cuh"
#include "../device/entries.cuh"
#include "../device/mailbox.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void oneshot_lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  Prefetched<Buffer> send(p, Buffer(base + p.send_offset, p.bytes));
  Epochs epochs(p);
  send.prefetch();
  const auto store = [&](int64_t offset, int64_t i, Vec v) {
    Buffer(base + offset, p.bytes).store<sizeof(typename T::Bits)>(i, v);
  };
  const auto to_root = [&](const Mailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      if (p.rank == p.root && i > begin) return;
      const Vec own = send.load(i);
      if (i > begin)
        mailboxes.send(p.root, p.rank, i - begin, own);
      else
        each_peer<N>(p, [&](uint32_t peer) { mailboxes.send(peer, p.rank, 0, own); });
    }
  };
  exchange_mailboxes<N>(p, epochs, vecs_in(p.bytes), to_root, [&](Mailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    const auto from_all = [&](int64_t i) { return reduce_received<T, Op, N>(p, mailboxes, i - begin, send.load(i)); };
    if (p.rank == p.root)
      Epilogue::template run<kMostMailboxVecs<N, 1>>(p, kSingleBlock, begin, end, from_all, store);
    else if (thread_id() == 0)
      mailboxes.receive(0, Vec{}, [](Vec) {}, [](uint32_t, Vec) {});
  });
}

REDUCTIONS(oneshot_lamport)
