// reduce, two-shot by mailboxes: all ranks but the root, the reducers, divide the data. Every rank stores each reducer's share
// of its input to that reducer's mailboxes; a reducer reduces its share and stores the result to a mailbox of the root. There
// is no barrier: a call costs two trips over the links, and no link carries more than the data once.
//
// Algorithm, for each tile of the shares that this block has:
//   1. store the tile of each reducer's share of the input to this rank's mailbox on that reducer; where a share has no vector
//      in the tile, store one vector of any content instead
//   2. a reducer waits for each vector of its share from every peer, reduces in rank order, and stores the result to its
//      mailbox on the root; a reducer without a vector in the tile waits for the one of any content from every peer
//   3. the root waits for the results and stores them to its output
// A block does not wait between the tiles. So step 1 of a tile overlaps with steps 2 and 3 of the tile before, and the link of
// the root carries its input and the results at once.
//
// Every tile synchronizes all ranks, as the slots need it: every reducer receives from all ranks, and the last reducer has
// vectors in each tile, so that the root receives a result that depends on the inputs of all.
//
// Buffers: input and output are local, may be the same, and need no symmetric address: the root has stored its input to
// mailboxes before results can arrive. Only the root's output is written. The mailboxes are symmetric: see
// mailbox_pipeline.cuh. A rank's mailbox on a reducer holds inputs, and its mailbox on the root holds results.
//
// Memory order: none beyond that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes, root and grid on all ranks, a grid of at most kMaxBlocks blocks that are all
// resident, and blocks of a multiple of 32 threads; world tiles, with a vector more each, fit into kMailboxSlotBytes. Any
// count and alignment. Floats of up to 32 bits. sm_90 and up, up to kMaxRanks ranks.

#include "../device/entries.cuh"
#include "../device/mailbox_pipeline.cuh"
#include "../device/part.cuh"

// The shares of the reducers. Index i of the shares is vector i of each of them. A single rank is its own reducer.
template <int N>
class Shares {
 public:
  FORCE_INLINE __device__ explicit Shares(const Params& p)
      : vecs_(vecs_in(p.bytes)), root_(p.root), world_(world_size<N>(p)), reducers_(world_ > 1 ? world_ - 1 : 1) {}

  FORCE_INLINE __device__ bool reduces(uint32_t rank) const { return rank != root_ || world_ == 1; }

  // The number of vectors of the longest share, which is that of the last reducer.
  FORCE_INLINE __device__ int64_t longest() const { return (vecs_ + reducers_ - 1) / reducers_; }

  // Whether all shares have this index, at vectors below `whole`. The first reducer has the shortest share.
  FORCE_INLINE __device__ bool all_have(int64_t index, int64_t whole) const {
    return index < vecs_ / reducers_ && vecs_ * (reducers_ - 1) / reducers_ + index < whole;
  }

  // The vector of the data at an index of the share of a reducer, and whether the share has it.
  FORCE_INLINE __device__ int64_t at(uint32_t rank, int64_t index) const { return of(rank).begin + index; }
  FORCE_INLINE __device__ bool has(uint32_t rank, int64_t index) const {
    return reduces(rank) && at(rank, index) < of(rank).end;
  }

 private:
  FORCE_INLINE __device__ Range of(uint32_t rank) const {
    return part_of(vecs_, 1, rank < root_ || world_ == 1 ? rank : rank - 1, reducers_);
  }

  int64_t vecs_;
  uint32_t root_, world_, reducers_;
};

// Step 1 for one index of the shares. All loads are issued before the first is waited for.
template <int N>
FORCE_INLINE __device__ void send_inputs(const Params& p, const Mailboxes<N>& mailboxes, const Shares<N>& shares,
                                         const Buffer& send, int64_t index, int64_t in_tile) {
  if constexpr (N > 0) {
    if (shares.all_have(index, send.whole)) {
      Vec own[N];
      uint32_t k = 0;
      each_peer<N>(p, [&](uint32_t peer) {
        if (peer != p.root) own[k] = ld(send.address + shares.at(peer, index) * kVecBytes);
        k++;
      });
      k = 0;
      each_peer<N>(p, [&](uint32_t peer) {
        if (peer != p.root) mailboxes.send(peer, p.rank, in_tile, own[k]);
        k++;
      });
      return;
    }
  }
  each_peer<N>(p, [&](uint32_t peer) {
    if (shares.has(peer, index))
      mailboxes.send(peer, p.rank, in_tile, send.load(shares.at(peer, index)));
    else if (shares.reduces(peer) && in_tile == 0)
      mailboxes.send(peer, p.rank, 0, Vec{});
  });
}

// Step 2 for one index of the shares, on a reducer.
template <typename T, typename Op, int N>
FORCE_INLINE __device__ void send_result(const Params& p, Mailboxes<N>& mailboxes, const Shares<N>& shares, const Buffer& send,
                                         const Buffer& recv, int64_t index, int64_t in_tile) {
  if (!shares.has(p.rank, index)) {
    if (in_tile == 0) mailboxes.receive(0, Vec{}, [](Vec) {}, [](uint32_t, Vec) {});
    return;
  }
  const int64_t i = shares.at(p.rank, index);
  const Vec result = reduce_received<T, Op, N>(p, mailboxes, in_tile, send.load(i)).rounded();
  if (p.rank == p.root)
    recv.store<sizeof(typename T::Bits)>(i, result);
  else if (!mailboxes.failed()) // else the root would take wrong data for the result
    mailboxes.send(p.root, p.rank, in_tile, result);
}

// Step 3 for one index of the shares, on the root.
template <typename T, int N>
FORCE_INLINE __device__ void receive_result(Mailboxes<N>& mailboxes, const Shares<N>& shares, const Buffer& recv, int64_t index,
                                            int64_t in_tile) {
  mailboxes.extend_deadline();
  const auto expected = [&](uint32_t r) { return shares.has(r, index); };
  mailboxes.receive_some(0, in_tile, expected, [&](uint32_t r, Vec v) {
    if (expected(r)) recv.store<sizeof(typename T::Bits)>(shares.at(r, index), v);
  });
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot_lamport(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  const Buffer send(base + p.send_offset, p.bytes), recv(base + p.recv_offset, p.bytes);
  const Shares<N> shares(p);
  Epochs epochs(p);
  const auto to_reducers = [&](const Mailboxes<N>& mailboxes, int64_t index, int64_t in_tile) {
    send_inputs(p, mailboxes, shares, send, index, in_tile);
  };
  pipeline_mailboxes<N>(p, epochs, shares.longest(), to_reducers, [&](Mailboxes<N>& mailboxes, int64_t index, int64_t in_tile) {
    if (shares.reduces(p.rank))
      send_result<T, Op>(p, mailboxes, shares, send, recv, index, in_tile);
    else
      receive_result<T>(mailboxes, shares, recv, index, in_tile);
  });
}

REDUCTIONS(twoshot_lamport)
