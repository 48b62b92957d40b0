// allreduce, one-shot by packets: every rank stores its input to all peers, as packets
// that carry their own flags, and reduces what it receives. There is no barrier: a call
// costs one trip over the link.
//
// Algorithm, for each tile of this block:
//   1. store the tile of the input to every peer, as packets
//   2. wait for each vector from every peer, reduce in rank order, store to the output
//
// Buffers: input and output are local, may be the same, and need no symmetric
// address: a thread has read a vector of the input before it overwrites it.
// The packets' slots are symmetric; see packet.cuh.
//
// Memory order: none beyond that of a 64-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads; the packets of world tiles, which take up twice their size, fit
// into kPacketSlotBytes. Any count and alignment; an epilogue by rows takes
// aligned buffers and tiles of whole rows. sm_80 and up, up to kMaxRanks ranks.

#include "../device/prefetch.cuh"
#include "../device/entries.cuh"
#include "../device/packet.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void oneshot_ll(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  using Store = typename Epilogue::Store;
  Prefetched<Store> send(p, Store(base + p.send_offset, p.bytes));
  Epochs epochs(p);
  send.prefetch();
  const auto to_all = [&](const PacketSlot<N>& slot, int64_t i, int64_t at) {
    const Vec own = send.load(i);
    each_peer<N>(p, [&](uint32_t peer) { slot.send(peer, at, own); });
  };
  const auto store = [&](int64_t offset, int64_t i, Vec v) {
    Store(base + offset, p.bytes).template store<sizeof(typename T::Bits)>(i, v);
  };
  exchange_packets<N>(p, epochs, to_all, [&](PacketSlot<N>& slot, int64_t begin, int64_t end) {
    const auto from_all = [&](int64_t i) { return reduce_received<T, Op, N>(p, slot, i - begin, send.load(i)); };
    constexpr int kMost = kMaxRowVecs / 2; // longer rows are not small
    constexpr int kRowVecs = kMostTileVecs<N> < kMost ? kMostTileVecs<N> : kMost;
    Epilogue::template run<kRowVecs>(p, kSingleBlock, begin, end, from_all, store);
  });
}

ALLREDUCES(oneshot_ll)
