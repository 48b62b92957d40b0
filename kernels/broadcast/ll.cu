// broadcast, packets: the root stores its input to all peers, as packets that carry
// their own flags. There is no barrier.
//
// Algorithm, for each tile of this block:
//   1. the root stores the tile to every peer, as packets; every other rank stores one
//      vector of zeros, vector 0, to every peer
//   2. the root copies its input to its output; the others wait for each vector from the
//      root and store it to the output; all wait for vector 0 from every other rank
//
// Why vectors of zeros are sent: a root that waited for nothing could overwrite packets
// that a peer has not read. It writes to a slot of a peer in epoch e, and the same or another
// root may write there in epoch e+2. Before that, the root's block waits in epoch e+1 for
// vector 0 from that peer. The peer's block sends vector 0 after all of its threads have read
// what arrived in epoch e. These packets travel beside the data and take no extra round trip:
// a thread polls for both at once.
//
// Buffers: input and output are local and need no symmetric address. Only the root's
// input is read, and it may be the root's output. The packets' slots are symmetric; see
// packet.cuh.
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
  const bool is_root = p.rank == p.root;
  Prefetched<Buffer> input(p, Buffer(base + p.send_offset, p.bytes), is_root);
  Epochs epochs(p);
  input.prefetch();
  const Buffer output(base + p.recv_offset, p.bytes);
  const auto own = [&](int64_t i) { return is_root ? input.load(i) : Vec{}; };
  const auto to_all = [&](const PacketSlot<N>& slot, int64_t i, int64_t at) {
    if (!is_root && at > 0) return;
    const Vec v = own(i);
    each_peer<N>(p, [&](uint32_t peer) { slot.send(peer, at, v); });
  };
  exchange_packets<N>(p, epochs, to_all, [&](PacketSlot<N>& slot, int64_t begin, int64_t end) {
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      const auto at = [&](uint32_t r) { return r == p.root ? i - begin : 0; };
      const auto put = [&](uint32_t r, Vec v) {
        if (r == p.root) store_bytes(output, i, v);
      };
      slot.receive_at(at, own(i), [&](Vec v) { put(0, v); }, put);
    }
  });
}

ENTRY(broadcast_ll, ll<0>)
ENTRY(broadcast_ll_n2, ll<2>)
ENTRY(broadcast_ll_n4, ll<4>)
ENTRY(broadcast_ll_n8, ll<8>)
