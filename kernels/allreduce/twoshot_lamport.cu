// allreduce, two-shot by mailboxes: every rank stores each peer's part of its input in that
// peer's mailboxes, reduces its own part, and stores the result in those of all. There is no
// barrier: a call costs two trips over the links.
//
// Algorithm, for each tile of the parts that falls to this block:
//   1. store the tile of each peer's part of the own input in that peer's box for this rank
//   2. wait for each vector of the own part from every peer, reduce in rank order, store to the
//      output, and in every peer's box for this rank's results
//   3. wait for the results of the peers' parts, store them to the output
//
// Buffers: input and output are local, may be the same, and need no symmetric address: the own
// vectors of a place are read before anything is stored there. The mailboxes are symmetric; see
// lamport.cuh.
//
// Memory order: none is needed but that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32 threads; 2 * world
// tiles fit into kMailSlotBytes. Any count and alignment. Floats of up to 32 bits. sm_90 and
// up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/lamport.cuh"
#include "../device/part.cuh"

// Parts are those of all ranks; places are where a vector is in each of them.
template <int N>
class Parts {
 public:
  FORCE_INLINE __device__ explicit Parts(const Params& p) : vecs_(vecs_in(p.bytes)), world_(world_size<N>(p)) {}

  // How many places there are in the longest part; the first is the shortest.
  FORCE_INLINE __device__ int64_t longest() const { return (vecs_ + world_ - 1) / world_; }
  FORCE_INLINE __device__ int64_t at(uint32_t rank, int64_t place) const { return of(rank).begin + place; }
  FORCE_INLINE __device__ bool has(uint32_t rank, int64_t place) const { return at(rank, place) < of(rank).end; }

 private:
  FORCE_INLINE __device__ Range of(uint32_t rank) const { return part_of(vecs_, 1, rank, world_); }

  int64_t vecs_;
  uint32_t world_;
};

// Step 1 for a place of the parts. All loads are on their way before the first is waited for.
template <int N>
FORCE_INLINE __device__ void send_inputs(const Params& p, const Mailboxes<N>& mail, const Parts<N>& parts,
                                         const Buffer& send, int64_t place, int64_t box_place) {
  if constexpr (N > 0) {
    if (parts.has(0, place) && parts.at(N - 1, place) < send.whole) {
      Vec own[N];
      uint32_t k = 0;
      mail.each_peer([&](uint32_t peer) { own[k++] = ld(send.address + parts.at(peer, place) * kVecBytes); });
      k = 0;
      mail.each_peer([&](uint32_t peer) { mail.send(peer, p.rank, box_place, own[k++]); });
      return;
    }
  }
  mail.each_peer([&](uint32_t peer) {
    if (parts.has(peer, place)) mail.send(peer, p.rank, box_place, send.load(parts.at(peer, place)));
  });
}

// Step 2 for a place of the parts. Results lie in the boxes behind those of inputs.
template <typename T, typename Op, int N>
FORCE_INLINE __device__ void send_result(const Params& p, Mailboxes<N>& mail, const Parts<N>& parts, const Buffer& send,
                                         const Buffer& recv, int64_t place, int64_t box_place) {
  if (!parts.has(p.rank, place)) return;
  const int64_t i = parts.at(p.rank, place);
  const Vec result = reduce_mail<T, Op, N>(p, mail, box_place, send.load(i)).rounded();
  mail.each_peer([&](uint32_t peer) { mail.send(peer, world_size<N>(p) + p.rank, box_place, result); });
  recv.store<sizeof(typename T::Bits)>(i, result);
}

// Step 3 for a place of the parts.
template <typename T, int N>
FORCE_INLINE __device__ void take_results(const Params& p, Mailboxes<N>& mail, const Parts<N>& parts, const Buffer& recv,
                                          int64_t place, int64_t box_place) {
  const auto expected = [&](uint32_t r) { return r != p.rank && parts.has(r, place); };
  mail.take_some(world_size<N>(p), box_place, expected, [&](uint32_t r, Vec v) {
    if (expected(r)) recv.store<sizeof(typename T::Bits)>(parts.at(r, place), v);
  });
}

template <typename T, typename Op, int N, typename>
FORCE_INLINE __device__ void twoshot_lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  const Buffer send(base + p.send_offset, p.bytes), recv(base + p.recv_offset, p.bytes);
  const Parts<N> parts(p);
  exchange<N>(p, parts.longest(), [&](Mailboxes<N>& mail, int64_t begin, int64_t end) {
    const auto each_place = [&](auto f) {
      for (int64_t place = begin + thread_id(); place < end; place += block_threads()) f(place, place - begin);
    };
    each_place([&](int64_t place, int64_t box_place) { send_inputs(p, mail, parts, send, place, box_place); });
    each_place([&](int64_t place, int64_t box_place) {
      send_result<T, Op>(p, mail, parts, send, recv, place, box_place);
    });
    mail.next_step();
    each_place([&](int64_t place, int64_t box_place) { take_results<T>(p, mail, parts, recv, place, box_place); });
  });
}

REDUCTIONS(twoshot_lamport)
