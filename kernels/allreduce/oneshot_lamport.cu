// allreduce, one-shot by mailboxes: every rank sends its input to all peers, and reduces what
// arrives. There is no barrier, as in oneshot_ll, but a byte crosses a link once, not twice.
//
// Algorithm, for each tile that falls to this block:
//   1. send the tile of the own input to every peer's box for this rank
//   2. wait for each vector from every peer, reduce in rank order, store to the output
//
// Buffers: input and output are local, may be the same, and need no symmetric
// address: a thread has read the own vector when it stores to its place.
// The mailboxes are symmetric; see lamport.cuh.
//
// Memory order: a vector needs none but that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads; world tiles fit into kMailSlotBytes. Any count and alignment; an
// epilogue by rows takes aligned buffers and tiles of whole rows. Floats of up to 32
// bits. sm_90 and up, up to kMaxRanks ranks.

#include "../device/early.cuh"
#include "../device/entries.cuh"
#include "../device/lamport.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void oneshot_lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  using Store = typename Epilogue::Store;
  Early<Store> send(p, Store(base + p.send_offset, p.bytes));
  Epochs epochs(p);
  send.fetch();
  const auto store = [&](int64_t offset, int64_t i, Vec v) {
    Store(base + offset, p.bytes).template store<sizeof(typename T::Bits)>(i, v);
  };
  const auto to_all = [&](const Mailboxes<N>& mail, int64_t begin, int64_t end) {
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      const Vec own = send.load(i);
      each_peer<N>(p, [&](uint32_t peer) { mail.send(peer, p.rank, i - begin, own); });
    }
  };
  exchange<N>(p, epochs, vecs_in(p.bytes), to_all, [&](Mailboxes<N>& mail, int64_t begin, int64_t end) {
    const auto from_all = [&](int64_t i) { return reduce_mail<T, Op, N>(p, mail, i - begin, send.load(i)); };
    Epilogue::template drive<kMostBoxVecs<N, 1>>(p, kAlone, begin, end, from_all, store);
  });
}

ALLREDUCES(oneshot_lamport)
