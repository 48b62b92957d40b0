// gather, packets: every rank pushes its input to the root, as packets that carry
// their own flags, and the root stores what arrives. There is no barrier.
//
// Algorithm, for each tile that falls to this block:
//   1. push the tile of the own input to the root, as packets; push vector 0 of it
//      to every peer, the root its own as well
//   2. the root waits for each vector from every peer, and stores it to that rank's
//      part of the output, and the own one to its own; the others wait for vector 0
//      from every peer
//
// Why vector 0 goes to all: a rank that heard nothing from the root could run ahead
// without bound, and overwrite packets that the root has not read. A rank writes to a
// slot of the root in epoch e, and again in epoch e+2, or in that of whoever is root
// then. Before that its block has waited in epoch e+1 for vector 0 from that rank,
// whose block sent it only after all of its threads had read what came in epoch e.
// What vector 0 holds does not matter to those that are not the root. It travels
// beside the data and costs no trip of its own.
//
// Buffers: input and output are local and need no symmetric address. In place, the
// root's input is its own part of the output, which then gets the same bytes again.
// Only the root's output is written. The packets' slots are symmetric; see packet.cuh.
//
// Memory order: none is needed but that of a 64-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes, root and grid on all ranks, a grid of
// at most kMaxBlocks blocks that are all resident, and blocks of a multiple of
// 32 threads; the packets of world tiles fit into kPacketSlotBytes. Any count and
// alignment. sm_80 and up, up to kMaxRanks ranks.

#include "../device/copy.cuh"
#include "../device/early.cuh"
#include "../device/entries.cuh"
#include "../device/packet.cuh"

template <int N>
FORCE_INLINE __device__ void ll(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  Early<Buffer> send(p, Buffer(base + p.send_offset, p.bytes));
  Epochs epochs(p);
  send.fetch();
  const auto to_root = [&](const Mail<N>& mail, int64_t i, int64_t at) {
    if (p.rank == p.root && at > 0) return;
    const Vec own = send.load(i);
    if (at > 0) return mail.send(p.root, at, own);
    each_peer<N>(p, [&](uint32_t peer) { mail.send(peer, 0, own); });
  };
  trade<N>(p, epochs, to_root, [&](Mail<N>& mail, int64_t begin, int64_t end) {
    if (p.rank != p.root) {
      if (thread_id() == 0) mail.receive(0, Vec{}, [](Vec) {}, [](uint32_t, Vec) {});
      return;
    }
    for (int64_t i = begin + thread_id(); i < end; i += block_threads()) {
      const auto put = [&](uint32_t r, Vec v) {
        store_bytes(Buffer(base + p.recv_offset + r * p.bytes, p.bytes), i, v);
      };
      mail.receive(i - begin, send.load(i), [&](Vec v) { put(0, v); }, put);
    }
  });
}

ENTRY(gather_ll, ll<0>)
ENTRY(gather_ll_n2, ll<2>)
ENTRY(gather_ll_n4, ll<4>)
ENTRY(gather_ll_n8, ll<8>)
