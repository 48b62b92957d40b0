// allgather, packets: every rank stores its part to all peers, as packets that
// carry their own flags. There is no barrier.
//
// Algorithm, for each tile of this block:
//   1. store the tile of this rank's part to every peer, as packets
//   2. wait for each vector from every peer, store it to that rank's part of the output
//
// Buffers: input and output are local and need no symmetric address. In place,
// the input is this rank's part of the output. The packets' slots are symmetric; see
// packet.cuh.
//
// Memory order: none beyond that of a 64-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads; the packets of world tiles fit into kPacketSlotBytes. Any count and
// alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/copy.cuh"
#include "../device/prefetch.cuh"
#include "../device/entries.cuh"
#include "../device/packet.cuh"

template <int N>
FORCE_INLINE __device__ void ll(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  Prefetched<Buffer> send(p, Buffer(base + p.send_offset, p.bytes));
  Epochs epochs(p);
  send.prefetch();
  const auto to_all = [&](const PacketSlot<N>& slot, int64_t i, int64_t at) {
    const Vec own = send.load(i);
    each_peer<N>(p, [&](uint32_t peer) { slot.send(peer, at, own); });
  };
  exchange_packets<N>(p, epochs, to_all, [&](PacketSlot<N>& slot, int64_t begin, int64_t end) {
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      const auto put = [&](uint32_t r, Vec v) {
        store_bytes(Buffer(base + p.recv_offset + r * p.bytes, p.bytes), i, v);
      };
      slot.receive(i - begin, send.load(i), [&](Vec v) { put(0, v); }, put);
    }
  });
}

ENTRY(allgather_ll, ll<0>)
ENTRY(allgather_ll_n2, ll<2>)
ENTRY(allgather_ll_n4, ll<4>)
ENTRY(allgather_ll_n8, ll<8>)
