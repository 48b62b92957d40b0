// gather, packets: every rank stores its input to the root as packets that carry their
// own flags. There is no barrier.
//
// Algorithm, for each tile of this block:
//   1. every rank but the root stores the tile of its input to the root, as packets;
//      every rank stores vector 0 of its tile to every peer
//   2. the root waits for each vector from every peer and stores it to that rank's part
//      of the output, and its own input to its own part; the others wait for vector 0
//      from every peer
//
// Why vector 0 goes to all ranks: a rank that waited for nothing could overwrite packets
// that the root has not read. A rank writes to a slot of the root in epoch e, and again in
// epoch e+2, to a slot of the rank that is the root then. Before that, its block waits in
// epoch e+1 for vector 0 from that rank. That rank's block sends vector 0 after all of its
// threads have read what arrived in epoch e. Ranks other than the root ignore the data of
// vector 0. It travels beside the other packets and takes no extra round trip.
//
// Buffers: input and output are local and need no symmetric address. Only the root's
// output is written. In place, the root's input is its own part of the output, and is
// overwritten with the same bytes. The packets' slots are symmetric; see packet.cuh.
//
// Memory order: none beyond that of a 64-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes, root and grid on all ranks, a grid of
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
  const auto to_root = [&](const PacketSlot<N>& slot, int64_t i, int64_t at) {
    if (p.rank == p.root && at > 0) return;
    const Vec own = send.load(i);
    if (at > 0) return slot.send(p.root, at, own);
    each_peer<N>(p, [&](uint32_t peer) { slot.send(peer, 0, own); });
  };
  exchange_packets<N>(p, epochs, to_root, [&](PacketSlot<N>& slot, int64_t begin, int64_t end) {
    if (p.rank != p.root) {
      if (thread_id() == 0) slot.receive(0, Vec{}, [](Vec) {}, [](uint32_t, Vec) {});
      return;
    }
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      const auto put = [&](uint32_t r, Vec v) {
        store_bytes(Buffer(base + p.recv_offset + r * p.bytes, p.bytes), i, v);
      };
      slot.receive(i - begin, send.load(i), [&](Vec v) { put(0, v); }, put);
    }
  });
}

ENTRY(gather_ll, ll<0>)
ENTRY(gather_ll_n2, ll<2>)
ENTRY(gather_ll_n4, ll<4>)
ENTRY(gather_ll_n8, ll<8>)
