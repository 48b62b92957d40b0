// allreduce, two-shot by mailboxes: every rank sends each peer that one's part of its input, reduces
// its own part, and sends the result to all. There is no barrier: a call costs two trips over the
// links.
//
// Algorithm, for each tile of the parts that falls to this block:
//   1. send the tile of each peer's part of the own input to that peer's box for this rank
//   2. wait for each vector of the own part from every peer, reduce in rank order, store to the
//      output, and send to every peer's box for this rank's results
//   3. wait for the results of the peers' parts, store them to the output
// With an epilogue by rows parts are whole rows; step 2 sends its results to the own box, too, and
// step 3 takes the rows of all parts one by one, and puts them through the epilogue, on every rank.
//
// Every tile is a meeting of all ranks, as slots need it: the last rank at least has vectors in it,
// and its results, for which all wait, rest on the inputs of all.
//
// Buffers: input and output are local, may be the same, and need no symmetric address: the own
// vectors of a place are read before anything is stored there. The mailboxes are symmetric; see
// lamport.cuh.
//
// Memory order: a vector needs none but that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32 threads; 2 * world
// tiles fit into kMailSlotBytes. Any count and alignment; an epilogue by rows takes aligned buffers
// and tiles of whole rows. Floats of up to 32 bits. sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/lamport.cuh"
#include "../device/part.cuh"

// Parts are those of all ranks; places are where a vector is in each of them.
template <int N>
class Parts {
 public:
  FORCE_INLINE __device__ Parts(const Params& p, int64_t row_vecs)
      : vecs_(vecs_in(p.bytes)), row_(row_vecs), world_(world_size<N>(p)) {}

  // How many places there are in the longest part; the first is the shortest.
  FORCE_INLINE __device__ int64_t longest() const {
    const int64_t rows = (vecs_ + row_ - 1) / row_;
    return (rows + world_ - 1) / world_ * row_;
  }
  FORCE_INLINE __device__ int64_t at(uint32_t rank, int64_t place) const { return of(rank).begin + place; }
  FORCE_INLINE __device__ bool has(uint32_t rank, int64_t place) const { return at(rank, place) < of(rank).end; }

 private:
  FORCE_INLINE __device__ Range of(uint32_t rank) const { return part_of(vecs_, row_, rank, world_); }

  int64_t vecs_, row_;
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
      each_peer<N>(p, [&](uint32_t peer) { own[k++] = ld(send.address + parts.at(peer, place) * kVecBytes); });
      k = 0;
      each_peer<N>(p, [&](uint32_t peer) { mail.send(peer, p.rank, box_place, own[k++]); });
      return;
    }
  }
  each_peer<N>(p, [&](uint32_t peer) {
    if (parts.has(peer, place)) mail.send(peer, p.rank, box_place, send.load(parts.at(peer, place)));
  });
}

// Step 2 for a place of the parts. Results lie in the boxes behind those of inputs.
template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ Vec send_result(const Params& p, Mailboxes<N>& mail, const Parts<N>& parts, const Buffer& send,
                                        int64_t place, int64_t box_place) {
  const int64_t i = parts.at(p.rank, place);
  auto result = reduce_mail<T, Op, N>(p, mail, box_place, send.load(i));
  if constexpr (!Epilogue::kByRow) Epilogue::apply(p, i, result);
  const Vec rounded = result.rounded();
  if (!mail.failed()) // else peers would take for the result what is none
    each_peer<N>(p, [&](uint32_t peer) { mail.send(peer, world_size<N>(p) + p.rank, box_place, rounded); });
  return rounded;
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

// Step 3 for the rows at places [begin, end) of the parts, the own one first.
template <typename T, int N, typename Epilogue>
FORCE_INLINE __device__ void take_rows(const Params& p, Mailboxes<N>& mail, const Parts<N>& parts, int64_t begin, int64_t end) {
  const uint32_t world = world_size<N>(p);
  const int64_t row_vecs = p.row_bytes / kVecBytes;
  const auto store = [&](int64_t offset, int64_t i, Vec v) { st(p.peers[p.rank] + offset + i * kVecBytes, v); };
  for (int64_t place = begin; place < end; place += row_vecs) {
#pragma nounroll
    for (uint32_t k = 0; k < world; k++) {
      const uint32_t owner = p.rank + k < world ? p.rank + k : p.rank + k - world;
      if (!parts.has(owner, place)) continue;
      const int64_t row = parts.at(owner, place);
      const auto result = [&](int64_t i) { return Partial<T, Vec>(mail.take_one(world, owner, place - begin + i - row)); };
      Epilogue::template normalise<kMostBoxVecs<N, 2>>(p, row, row_vecs, result, store);
    }
  }
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot_lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  const Buffer send(base + p.send_offset, p.bytes), recv(base + p.recv_offset, p.bytes);
  const Parts<N> parts(p, Epilogue::kByRow ? p.row_bytes / kVecBytes : 1);
  Epochs epochs(p);
  const auto to_owners = [&](const Mailboxes<N>& mail, int64_t begin, int64_t end) {
    for (int64_t place = begin + thread_id(); place < end; place += block_threads())
      send_inputs(p, mail, parts, send, place, place - begin);
  };
  exchange<N>(p, epochs, parts.longest(), to_owners, [&](Mailboxes<N>& mail, int64_t begin, int64_t end) {
    const auto each_place = [&](auto f) {
      for (int64_t place = begin + thread_id(); place < end; place += block_threads()) f(place, place - begin);
    };
    each_place([&](int64_t place, int64_t box_place) {
      if (!parts.has(p.rank, place)) return;
      const Vec result = send_result<T, Op, N, Epilogue>(p, mail, parts, send, place, box_place);
      if constexpr (Epilogue::kByRow)
        mail.send(p.rank, world_size<N>(p) + p.rank, box_place, result);
      else
        recv.template store<sizeof(typename T::Bits)>(parts.at(p.rank, place), result);
    });
    mail.next_step();
    if constexpr (Epilogue::kByRow)
      take_rows<T, N, Epilogue>(p, mail, parts, begin, end);
    else
      each_place([&](int64_t place, int64_t box_place) { take_results<T>(p, mail, parts, recv, place, box_place); });
  });
}

ALLREDUCES(twoshot_lamport)
