// reduce, packets: every rank stores its input to the root, as packets that carry
// their own flags, and the root reduces what it receives. There is no barrier.
//
// Algorithm, for each tile of this block:
//   1. every rank but the root stores the tile of its input to the root, as packets;
//      every rank stores vector 0 of its tile to every peer
//   2. the root waits for each vector from every peer, reduces in rank order, and
//      stores to the output; the others wait for vector 0 from every peer
//
// Why vector 0 goes to all ranks: a rank that waited for nothing could overwrite packets
// that the root has not read. A rank writes to a slot of the root in epoch e, and again in
// epoch e+2, to a slot of the rank that is the root then. Before that, its block waits in
// epoch e+1 for vector 0 from that rank. That rank's block sends vector 0 after all of its
// threads have read what arrived in epoch e. Ranks other than the root ignore the data of
// vector 0. It travels beside the other packets and takes no extra round trip.
//
// Buffers: input and output are local, may be the same, and need no symmetric address: a
// thread has read a vector of the input before it overwrites it. Only the root's output is
// written. The packets' slots are symmetric; see packet.cuh.
//
// Memory order: none beyond that of a 64-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes, root and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads; the packets of world tiles fit into kPacketSlotBytes. Any count and
// alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/prefetch.cuh"
#include "../device/entries.cuh"
#include "../device/packet.cuh"

template <typename T, typename Op, int N, typename Epilogue>
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
  const auto store = [&](int64_t offset, int64_t i, Vec v) {
    Buffer(base + offset, p.bytes).store<sizeof(typename T::Bits)>(i, v);
  };
  exchange_packets<N>(p, epochs, to_root, [&](PacketSlot<N>& slot, int64_t begin, int64_t end) {
    const auto from_all = [&](int64_t i) { return reduce_received<T, Op, N>(p, slot, i - begin, send.load(i)); };
    if (p.rank == p.root)
      Epilogue::run(p, kSingleBlock, begin, end, from_all, store);
    else if (thread_id() == 0)
      slot.receive(0, Vec{}, [](Vec) {}, [](uint32_t, Vec) {});
  });
}

REDUCTIONS(ll)
