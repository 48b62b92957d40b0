// scatter, packets: the root stores to each peer that peer's part of the input, as
// packets that carry their own flags. There is no barrier.
//
// Algorithm, for each tile of this block:
//   1. the root stores the tile of every peer's part to that peer, as packets; every
//      other rank stores one vector of zeros, vector 0, to every peer
//   2. the root copies its own part to its output; the others wait for each vector from
//      the root and store it to the output; all wait for vector 0 from every other rank
//
// Why vectors of zeros are sent: a root that waited for nothing could overwrite packets
// that a peer has not read. It writes to a slot of a peer in epoch e, and another root may
// write there in epoch e+2. Before that, the root's block waits in epoch e+1 for vector 0
// from that peer. The peer's block sends vector 0 after all of its threads have read what
// arrived in epoch e. These packets travel beside the data and take no extra round trip:
// a thread polls for both at once.
//
// Buffers: input and output are local and need no symmetric address. Only the root's
// input is read. In place, the root's output is its own part of the input, and is
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
  const bool is_root = p.rank == p.root;
  PrefetchedParts<N> input(p, base + p.send_offset, is_root);
  Epochs epochs(p);
  input.prefetch();
  const Buffer output(base + p.recv_offset, p.bytes);
  const auto to_each = [&](const PacketSlot<N>& slot, int64_t i, int64_t at) {
    if (!is_root && at > 0) return;
    each_rank<N, 1>(p, [&](uint32_t steps) {
      slot.send(rank_after<N>(p, steps), at, is_root ? input.load(steps, i) : Vec{});
    });
  };
  exchange_packets<N>(p, epochs, to_each, [&](PacketSlot<N>& slot, int64_t begin, int64_t end) {
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      const auto at = [&](uint32_t r) { return r == p.root ? i - begin : 0; };
      const auto put = [&](uint32_t r, Vec v) {
        if (r == p.root) store_bytes(output, i, v);
      };
      slot.receive_at(at, is_root ? input.load(0, i) : Vec{}, [&](Vec v) { put(0, v); }, put);
    }
  });
}

ENTRY(scatter_ll, ll<0>)
ENTRY(scatter_ll_n2, ll<2>)
ENTRY(scatter_ll_n4, ll<4>)
ENTRY(scatter_ll_n8, ll<8>)
