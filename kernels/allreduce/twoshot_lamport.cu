// allreduce, two-shot by mailboxes: every rank stores each peer's part of its input to that peer's mailboxes, reduces
// its own part, and stores the result to mailboxes of all peers. There is no barrier: a call costs two trips over the
// links.
//
// Algorithm, for each tile of the parts that this block has:
//   1. store the tile of each peer's part of the input to this rank's input mailbox on that peer
//   2. wait for each vector of this rank's part from every peer, reduce in rank order, store the result to the output
//      and to this rank's result mailbox on every peer
//   3. wait for the results of the peers' parts, store them to the output
// With an epilogue by rows, parts are whole rows. Step 2 then also stores its results to this rank's own result mailbox. Step 3
// takes the rows of all parts one by one, and applies the epilogue to them, on every rank.
//
// Every tile synchronizes all ranks, as the slots need it: at least the last rank has vectors in it, and its results, for
// which all ranks wait, depend on the inputs of all.
//
// Buffers: input and output are local, may be the same, and need no symmetric address: this rank's vectors are read
// before they are overwritten. The mailboxes are symmetric: see mailbox.cuh. Mailboxes 0 to world-1 of a
// slot hold inputs, the next world mailboxes hold results.
//
// Memory order: none beyond that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes and grid on all ranks, a grid of at most kMaxBlocks blocks that are all
// resident, and blocks of a multiple of 32 threads; 2 * world tiles fit into kMailboxSlotBytes. Any count and alignment;
// an epilogue by rows takes aligned buffers and tiles of whole rows. Floats of up to 32 bits. sm_90 and up, up to
// kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/mailbox.cuh"
#include "../device/part.cuh"

// Parts are the parts of all ranks. Index i of the parts is vector i of each of them.
template <int N>
class Parts {
 public:
  FORCE_INLINE __device__ Parts(const Params& p, int64_t row_vecs)
      : vecs_(vecs_in(p.bytes)), row_(row_vecs), world_(world_size<N>(p)) {}

  // The number of vectors of the longest part. Rank 0 has the shortest.
  FORCE_INLINE __device__ int64_t longest() const {
    const int64_t rows = (vecs_ + row_ - 1) / row_;
    return (rows + world_ - 1) / world_ * row_;
  }
  FORCE_INLINE __device__ int64_t at(uint32_t rank, int64_t index) const { return of(rank).begin + index; }
  FORCE_INLINE __device__ bool has(uint32_t rank, int64_t index) const { return at(rank, index) < of(rank).end; }

 private:
  FORCE_INLINE __device__ Range of(uint32_t rank) const { return part_of(vecs_, row_, rank, world_); }

  int64_t vecs_, row_;
  uint32_t world_;
};

// Step 1 for one index of the parts. All loads are issued before the first is waited for.
template <int N>
FORCE_INLINE __device__ void send_inputs(const Params& p, const Mailboxes<N>& mailboxes, const Parts<N>& parts,
                                         const Buffer& send, int64_t index, int64_t in_tile) {
  if constexpr (N > 0) {
    if (parts.has(0, index) && parts.at(N - 1, index) < send.whole) {
      Vec own[N];
      uint32_t k = 0;
      each_peer<N>(p, [&](uint32_t peer) { own[k++] = ld(send.address + parts.at(peer, index) * kVecBytes); });
      k = 0;
      each_peer<N>(p, [&](uint32_t peer) { mailboxes.send(peer, p.rank, in_tile, own[k++]); });
      return;
    }
  }
  each_peer<N>(p, [&](uint32_t peer) {
    if (parts.has(peer, index)) mailboxes.send(peer, p.rank, in_tile, send.load(parts.at(peer, index)));
  });
}

// Step 2 for one index of the parts.
template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ Vec send_result(const Params& p, Mailboxes<N>& mailboxes, const Parts<N>& parts, const Buffer& send,
                                        int64_t index, int64_t in_tile) {
  const int64_t i = parts.at(p.rank, index);
  auto result = reduce_received<T, Op, N>(p, mailboxes, in_tile, send.load(i));
  if constexpr (!Epilogue::kByRow) Epilogue::apply(p, i, result);
  const Vec rounded = result.rounded();
  if (!mailboxes.failed()) // else peers would take wrong data for the result
    each_peer<N>(p, [&](uint32_t peer) { mailboxes.send(peer, world_size<N>(p) + p.rank, in_tile, rounded); });
  return rounded;
}

// Step 3 for one index of the parts.
template <typename T, int N>
FORCE_INLINE __device__ void receive_results(const Params& p, Mailboxes<N>& mailboxes, const Parts<N>& parts, const Buffer& recv,
                                          int64_t index, int64_t in_tile) {
  const auto expected = [&](uint32_t r) { return r != p.rank && parts.has(r, index); };
  mailboxes.receive_some(world_size<N>(p), in_tile, expected, [&](uint32_t r, Vec v) {
    if (expected(r)) recv.store<sizeof(typename T::Bits)>(parts.at(r, index), v);
  });
}

// Step 3 for the rows at indices [begin, end) of the parts, of which this rank's is first.
template <typename T, int N, typename Epilogue>
FORCE_INLINE __device__ void receive_rows(const Params& p, Mailboxes<N>& mailboxes, const Parts<N>& parts, int64_t begin, int64_t end) {
  const uint32_t world = world_size<N>(p);
  const int64_t row_vecs = p.row_bytes / kVecBytes;
  const auto store = [&](int64_t offset, int64_t i, Vec v) { st(p.peers[p.rank] + offset + i * kVecBytes, v); };
  for (int64_t index = begin; index < end; index += row_vecs) {
#pragma nounroll
    for (uint32_t k = 0; k < world; k++) {
      const uint32_t owner = p.rank + k < world ? p.rank + k : p.rank + k - world;
      if (!parts.has(owner, index)) continue;
      const int64_t row = parts.at(owner, index);
      const auto result = [&](int64_t i) { return Partial<T, Vec>(mailboxes.receive_one(world, owner, index - begin + i - row)); };
      Epilogue::template normalize<kMostMailboxVecs<N, 2>>(p, row, row_vecs, result, store);
    }
  }
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot_lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  const Buffer send(base + p.send_offset, p.bytes), recv(base + p.recv_offset, p.bytes);
  const Parts<N> parts(p, Epilogue::kByRow ? p.row_bytes / kVecBytes : 1);
  Epochs epochs(p);
  const auto to_owners = [&](const Mailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    for (int64_t index = begin + thread_id(); index < end; index += block_threads())
      send_inputs(p, mailboxes, parts, send, index, index - begin);
  };
  exchange_mailboxes<N>(p, epochs, parts.longest(), to_owners, [&](Mailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    const auto each_index = [&](auto f) {
      for (int64_t index = begin + thread_id(); index < end; index += block_threads()) f(index, index - begin);
    };
    each_index([&](int64_t index, int64_t in_tile) {
      if (!parts.has(p.rank, index)) return;
      const Vec result = send_result<T, Op, N, Epilogue>(p, mailboxes, parts, send, index, in_tile);
      if constexpr (Epilogue::kByRow)
        mailboxes.send(p.rank, world_size<N>(p) + p.rank, in_tile, result);
      else
        recv.template store<sizeof(typename T::Bits)>(parts.at(p.rank, index), result);
    });
    mailboxes.extend_deadline();
    if constexpr (Epilogue::kByRow)
      receive_rows<T, N, Epilogue>(p, mailboxes, parts, begin, end);
    else
      each_index([&](int64_t index, int64_t in_tile) { receive_results<T>(p, mailboxes, parts, recv, index, in_tile); });
  });
}

ALLREDUCES(twoshot_lamport)
