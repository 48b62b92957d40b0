// Exchanges of parts of any bits through keyed mailboxes (keyed_mailbox.cuh): the algorithm `lamport` of collectives that do
// not reduce. They differ in who sends data to whom, and in whether a rank's input or output has a part for each rank.
//
// Algorithm, for each tile of this block:
//   1. store the tile of each part that this rank sends to the part's rank, row by row; store one vector of any content,
//      vector 0, to every peer that gets no data
//   2. wait for each row of the parts that this rank receives, and store it to the output; copy the part that stays on this
//      rank; wait for vector 0 from every peer that sends no data
//
// Why ranks without data send vector 0: the slots need it. In each epoch a rank receives from all others (mailbox.cuh). These
// vectors travel beside the data and take no trip of their own.
//
// Buffers: input and output are local and need no symmetric address. What a rank does not send is not read, and where it
// receives nothing, nothing is written. The part that stays on this rank may lie in the output already: then it is
// overwritten with the same bytes. The mailboxes are symmetric.
//
// Memory order: none beyond that of a 32-bit word, which arrives whole.
//
// The caller gives the same bytes, tile_bytes, root and grid on all ranks, a grid of at most kMaxBlocks blocks that are all
// resident, and blocks of a multiple of 32 threads; world tiles, with a vector more for each 32, fit into kMailboxSlotBytes.
// Any count and alignment. sm_90 and up, up to kMaxRanks ranks.
#pragma once

#include "copy.cuh"
#include "keyed_mailbox.cuh"
#include "prefetch.cuh"

// Who sends data to whom.
enum class Route { kAllToAll, kFromRoot, kToRoot };

// What a buffer has: one part, or a part for each rank.
enum class Parts { kOne, kPerRank };

// Input is this rank's input. The first vectors that this thread sends are loaded ahead, unless it sends none.
template <int N, Parts kParts>
class Input;

template <int N>
class Input<N, Parts::kOne> : public Prefetched<Buffer> {
 public:
  FORCE_INLINE __device__ Input(const Params& p, bool enabled)
      : Prefetched<Buffer>(p, Buffer(p.peers[p.rank] + p.send_offset, p.bytes), enabled) {}

  // Vector i of the part for the rank that is `steps` after this one.
  FORCE_INLINE __device__ Vec load(uint32_t, int64_t i) const { return Prefetched<Buffer>::load(i); }
};

template <int N>
class Input<N, Parts::kPerRank> : public PrefetchedParts<N> {
 public:
  FORCE_INLINE __device__ Input(const Params& p, bool enabled)
      : PrefetchedParts<N>(p, p.peers[p.rank] + p.send_offset, enabled) {}
};

// Sends a row to every peer: of the vectors load(steps) of the lanes for the rank that is `steps` after this one.
template <int N, Parts kInput, typename Load>
FORCE_INLINE __device__ void send_to_peers(const Params& p, const KeyedMailboxes<N>& mailboxes, int64_t index, bool has,
                                           Load load) {
  const auto send_to = [&](uint32_t peer, Vec v) { mailboxes.send_row(p.rank, index, has, v, [&](auto f) { f(peer); }); };
  if constexpr (kInput == Parts::kOne) {
    mailboxes.send_row(p.rank, index, has, load(0), [&](auto f) { each_peer<N>(p, f); });
  } else if constexpr (N == 0) {
    each_rank<N, 1>(p, [&](uint32_t steps) { send_to(rank_after<N>(p, steps), load(steps)); });
  } else { // all loads are issued before the first vector is sent
    Vectors<N> after;
    each_rank<N, 1>(p, [&](uint32_t steps) { after.of[steps] = load(steps); });
    each_rank<N, 1>(p, [&](uint32_t steps) { send_to(rank_after<N>(p, steps), after.of[steps]); });
  }
}

// The exchange of a whole launch. kInput and kOutput say what the buffers at send_offset and recv_offset have.
template <int N, Route kRoute, Parts kInput, Parts kOutput>
FORCE_INLINE __device__ void exchange_rows(const Params& p) {
  const bool is_root = p.rank == p.root;
  // The lane that sends and receives vector 0 of a tile where there is no data; the first lane has keys to handle.
  const bool is_witness = kRoute != Route::kAllToAll && thread_id() == kRowLanes - 1;
  Input<N, kInput> input(p, kRoute != Route::kFromRoot || is_root);
  Epochs epochs(p);
  input.prefetch();
  const auto load = [&](uint32_t steps, int64_t i, bool has) { return has ? input.load(steps, i) : Vec{}; };
  // Whether one rank sends data to another, where there is a root.
  const auto sends_data = [&](uint32_t from, uint32_t to) { return p.root == (kRoute == Route::kFromRoot ? from : to); };

  const auto send = [&](const KeyedMailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    if (kRoute == Route::kAllToAll || is_root == (kRoute == Route::kFromRoot))
      each_row(begin, end, [&](int64_t i, bool has) {
        if constexpr (kRoute == Route::kToRoot)
          mailboxes.send_row(p.rank, i - begin, has, load(0, i, has), [&](auto f) { f(p.root); });
        else
          send_to_peers<N, kInput>(p, mailboxes, i - begin, has, [&](uint32_t steps) { return load(steps, i, has); });
      });
    if (is_witness)
      each_peer<N>(p, [&](uint32_t peer) {
        if (!sends_data(p.rank, peer)) mailboxes.send(peer, p.rank, 0, Vec{});
      });
  };
  const auto receive = [&](KeyedMailboxes<N>& mailboxes, int64_t begin, int64_t end) {
    if (kRoute != Route::kToRoot || is_root)
      each_row(begin, end, [&](int64_t i, bool has) {
        const auto put = [&](uint32_t from, Vec v) {
          const int64_t part = kOutput == Parts::kOne ? 0 : from * p.bytes;
          if (has) store_bytes(Buffer(p.peers[p.rank] + p.recv_offset + part, p.bytes), i, v);
        };
        if constexpr (kRoute == Route::kFromRoot)
          put(p.root, is_root ? load(0, i, has) : mailboxes.receive_row(p.root, i - begin, has));
        else
          mailboxes.receive_rows(i - begin, has, load(0, i, has), put);
      });
    const auto has_no_data = [&](uint32_t r) { return r != p.rank && !sends_data(r, p.rank); };
    if (is_witness) mailboxes.receive_some(0, 0, has_no_data, [](uint32_t, Vec) {});
  };
  exchange_mailboxes<N, KeyedMailboxes>(p, epochs, vecs_in(p.bytes), send, receive);
}
