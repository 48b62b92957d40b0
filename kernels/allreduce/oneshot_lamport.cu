// allreduce, one-shot by mailboxes: every rank stores its input to mailboxes of all peers, and reduces what it
// receives. There is no barrier, as in oneshot_ll, but each byte crosses a link once, not twice.
//
// Algorithm, for each tile of this block:
//   1. store the tile of the input to this rank's mailbox on every peer
//   2. wait for each vector from every peer, reduce in rank order, store to the output
//
// Buffers: input and output are local, may be the same, and need no symmetric
// address: a thread has read a vector of the input before it overwrites it.
// The mailboxes are symmetric; see mailbox.cuh.
//
// Memory order: none beyond that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads; world tiles fit into kMailboxSlotBytes. Any count and alignment; an
// epilogue by rows takes aligned buffers and tiles of whole rows. Floats of up to 32
// bits. sm_90 and up, up to kMaxRanks ranks.

#include "../device/prefetch.cuh"
#include "../device/entries.cuh"
#include "../device/mailbox.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void oneshot_lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  using Store = typename Epilogue::Store;
  Prefetched<Store> send(p, Store(base + p.send_offset, p.bytes));
  Epochs epochs(p);
  send.prefetch();
  const auto store = [&](int64_t offset, int64_t i, Vec v) {
    Store(base + offset, p.bytes).template store<sizeof(typename T::Bits)>(i, v);
  };
  const auto to_all = [&](const Mailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      const Vec own = send.load(i);
      each_peer<N>(p, [&](uint32_t peer) { mailboxes.send(peer, p.rank, i - begin, own); });
    }
  };
  exchange_mailboxes<N>(p, epochs, vecs_in(p.bytes), to_all, [&](Mailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    const auto from_all = [&](int64_t i) { return reduce_received<T, Op, N>(p, mailboxes, i - begin, send.load(i)); };
    Epilogue::template run<kMostMailboxVecs<N, 1>>(p, kSingleBlock, begin, end, from_all, store);
  });
}

ALLREDUCES(oneshot_lamport)
