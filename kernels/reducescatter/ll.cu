// reducescatter, packets: every rank stores to each peer that peer's part of the input, as
// packets that carry their own flags, and reduces what it receives. There is no
// barrier.
//
// Algorithm, for each tile of this block:
//   1. store the tile of every peer's part of the input to that peer, as packets
//   2. wait for each vector from every peer, reduce in rank order, store to the output
//
// Buffers: input and output are local and need no symmetric address. In place,
// the output is this rank's part of its input, which no other rank reads.
// The packets' slots are symmetric; see packet.cuh.
//
// Memory order: none beyond that of a 64-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads; the packets of world tiles fit into kPacketSlotBytes. Any count and
// alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/prefetch.cuh"
#include "../device/entries.cuh"
#include "../device/packet.cuh"

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void ll(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  PrefetchedParts<N> send(p, base + p.send_offset);
  Epochs epochs(p);
  send.prefetch();
  const auto to_each = [&](const PacketSlot<N>& slot, int64_t i, int64_t at) {
    each_rank<N, 1>(p, [&](uint32_t steps) { slot.send(rank_after<N>(p, steps), at, send.load(steps, i)); });
  };
  const auto store = [&](int64_t offset, int64_t i, Vec v) {
    Buffer(base + offset, p.bytes).store<sizeof(typename T::Bits)>(i, v);
  };
  exchange_packets<N>(p, epochs, to_each, [&](PacketSlot<N>& slot, int64_t begin, int64_t end) {
    const auto from_all = [&](int64_t i) { return reduce_received<T, Op, N>(p, slot, i - begin, send.load(0, i)); };
    Epilogue::run(p, kSingleBlock, begin, end, from_all, store);
  });
}

REDUCTIONS(ll)
