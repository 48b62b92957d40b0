// Mailboxes: vectors that are their own flags. They need no barrier, and no byte beside the data. (The idea is Lamport's
// queue of one writer and one reader, 1977; TensorRT-LLM's allreduce calls it by his name.)
//
// Encoding: a zero word means empty. A vector is sent as the inverted bits of its four 32-bit words, none of which may
// then be zero. The only word that would be, of all ones, holds nothing but NaNs in floats of up to 32 bits: it is sent
// as if its highest bit, a NaN's sign, were 0, and reductions make the same NaN of both. A 32-bit word arrives whole; the
// four words of a vector may arrive apart, so each is checked. The receiver stores zeros after it has taken a vector.
//
// Slots: every block has two, used in turn by the parity of the epoch. Each call cuts a slot into mailboxes of one tile,
// one for each sending rank. A slot is written again two epochs later. In the epoch in between, the writer has received
// from every rank, or from a rank that had; and a rank sends nothing in an epoch before its whole block has emptied all
// mailboxes of the epoch before. So no receiver finds old data in a slot, however calls cut it.
//
// Memory order: loads and stores are relaxed. The reuse of a slot is ordered by two facts. The zeros are in memory before
// their rank sends anything in the next epoch: a fence stands between the tiles of a launch, and the end of a launch
// orders the rest. A writer's polls have returned before its block synchronizes and sends on, or before its launch ends.
//
// A wait that fails returns any data. A sender whose data depends on a wait checks failed() first and sends nothing, so
// that its peers time out as well.
//
// The memory starts as zeros, lies at Params::packet_offset, and is used for nothing else.
#pragma once

#include "barrier.cuh"
#include "peer_vectors.cuh"
#include "reduce.cuh"
#include "vector.cuh"

// A word in the encoding above.
FORCE_INLINE __device__ uint32_t encoded(uint32_t word) { return word == 0xffffffff ? 0x80000000 : ~word; }

FORCE_INLINE __device__ Vec encoded(Vec v) { return Vec{encoded(v.x), encoded(v.y), encoded(v.z), encoded(v.w)}; }

// A vector as it arrives has no zero word.
FORCE_INLINE __device__ bool is_full(Vec v) { return v.x != 0 && v.y != 0 && v.z != 0 && v.w != 0; }

FORCE_INLINE __device__ void st_mailbox(uint64_t at, Vec v) {
  asm volatile("st.relaxed.sys.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

FORCE_INLINE __device__ Vec ld_mailbox(uint64_t at) {
  Vec v;
  asm volatile("ld.relaxed.sys.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at)
               : "memory");
  return v;
}

// Mailboxes is one block's slot in one epoch, on all ranks. Once a wait has failed, all later ones fail at once.
template <int N>
class Mailboxes {
 public:
  // A mailbox has room for one tile and `spare` vectors.
  FORCE_INLINE __device__ Mailboxes(const Params& p, uint32_t epoch, int64_t spare = 0)
      : p_(p),
        epoch_(epoch),
        slot_(p.packet_offset + (int64_t)(2 * block_id() + epoch % 2) * kMailboxSlotBytes),
        bytes_(p.tile_bytes + spare * kVecBytes) {}

  // Stores vector `index` of a tile to a mailbox of rank `to`.
  FORCE_INLINE __device__ void send(uint32_t to, uint32_t mailbox, int64_t index, Vec v) const {
    st_mailbox(p_.peers[to] + offset(mailbox, index), encoded(v));
  }

  // Waits for vector `index` from every peer r, in mailbox r. Calls first(vector) for rank 0 and then each(rank, vector)
  // for the other ranks, in rank order; `own` stands for this rank's vector.
  template <typename First, typename Each>
  FORCE_INLINE __device__ void receive(int64_t index, Vec own, First first, Each each) {
    const auto from_peer = [&](uint32_t r) { return r != p_.rank; };
    const auto pass = [&](uint32_t r, Vec v) {
      if (r == 0)
        first(v);
      else
        each(r, v);
    };
    receive_some(0, index, from_peer, [&](uint32_t r, Vec v) { pass(r, r == p_.rank ? own : v); });
  }

  // Waits for vector `index` from those ranks r for which expected(r) is true, in mailbox first_mailbox + r. Calls
  // each(rank, vector) for all ranks in order, with any data for those not expected.
  template <typename Expected, typename Each>
  FORCE_INLINE __device__ void receive_some(uint32_t first_mailbox, int64_t index, Expected expected, Each each) {
    if constexpr (N == 0) {
      each_rank<0, 0>(p_, [&](uint32_t r) { each(r, poll<1>(first_mailbox, r, index, expected).of[0]); });
    } else {
      const Vectors<N> vectors = poll<N>(first_mailbox, 0, index, expected);
      each_rank<N, 0>(p_, [&](uint32_t r) { each(r, vectors.of[r]); });
    }
  }

  // Waits for vector `index` from one rank, which may be this one.
  FORCE_INLINE __device__ Vec receive_one(uint32_t first_mailbox, uint32_t rank, int64_t index) {
    return poll<1>(first_mailbox, rank, index, [](uint32_t) { return true; }).of[0];
  }

  // Waits from here on depend on earlier waits of the peers. They may last one more time-out than those, so that the rank
  // that is really missing is the one reported: see Deadline.
  FORCE_INLINE __device__ void extend_deadline() { timeouts_ = 2; }

  FORCE_INLINE __device__ bool failed() const { return failed_; }

 protected:
  FORCE_INLINE __device__ const Params& params() const { return p_; }

  // Polls until the expected vectors of ranks [first, first + kRanks) have arrived, and empties their mailboxes.
  template <int kRanks, typename Expected>
  FORCE_INLINE __device__ Vectors<kRanks> poll(uint32_t first_mailbox, uint32_t first, int64_t index, Expected expected) {
    const auto rank = [&](uint32_t k) { return first + k; };
    return poll_each<kRanks>(
        rank, [&](uint32_t k) { return offset(first_mailbox + rank(k), index); },
        [&](uint32_t k) { return expected(rank(k)); });
  }

  // Polls until those vectors k have arrived for which expected(k) is true, from rank(k) at offset(k), and empties them. All
  // loads are issued before the first is checked, and only what is missing is polled again.
  template <int kVecs, typename Rank, typename Offset, typename Expected>
  FORCE_INLINE __device__ Vectors<kVecs> poll_each(Rank rank, Offset offset, Expected expected) {
    const auto at = [&](uint32_t k) { return p_.peers[p_.rank] + offset(k); };
    Vectors<kVecs> seen = {};
#pragma unroll
    for (uint32_t k = 0; k < kVecs; k++)
      if (expected(k)) seen.of[k] = ld_mailbox(at(k));
    for (Deadline deadline;;) {
      uint32_t missing = kMaxRanks;
#pragma unroll
      for (uint32_t k = 0; k < kVecs; k++)
        if (expected(k) && !is_full(seen.of[k])) missing = rank(k);
      if (missing == kMaxRanks || failed_) break;
      if (deadline.has_passed(p_, timeouts_)) {
        record_fault(p_, kPackets, missing, epoch_, 0);
        failed_ = true;
      }
#pragma unroll
      for (uint32_t k = 0; k < kVecs; k++)
        if (expected(k) && !is_full(seen.of[k])) seen.of[k] = ld_mailbox(at(k));
    }
#pragma unroll
    for (uint32_t k = 0; k < kVecs; k++) {
      if (expected(k)) st_mailbox(at(k), Vec{});
      seen.of[k] = ~seen.of[k];
    }
    return seen;
  }

  // The offset of vector `index` in a mailbox, from the base of symmetric memory.
  FORCE_INLINE __device__ int64_t offset(uint32_t mailbox, int64_t index) const {
    return slot_ + mailbox * bytes_ + index * kVecBytes;
  }

 private:
  const Params& p_;
  uint32_t epoch_;
  int64_t slot_, bytes_;
  uint32_t timeouts_ = 1;
  bool failed_ = false;
};

// How many vectors fit into a mailbox when a slot has kMailboxes of them for each of N ranks, but no more than a row.
template <int N, int kMailboxes>
constexpr int kMostMailboxVecs = kMailboxSlotBytes / kVecBytes / kMailboxes / (N == 0 ? 1 : N) < kMaxRowVecs
                                 ? kMailboxSlotBytes / kVecBytes / kMailboxes / (N == 0 ? 1 : N)
                                 : kMaxRowVecs;

// Exchanges parts of `vecs` vectors among all ranks, tile by tile: send(mailboxes, begin, end) and then
// receive(mailboxes, begin, end) handle vectors [begin, end) of the parts, which are the tile's. Slots is Mailboxes, or a class
// derived from it.
template <int N, template <int> typename Slots = Mailboxes, typename Send, typename Receive>
FORCE_INLINE __device__ void exchange_mailboxes(const Params& p, Epochs& epochs, int64_t vecs, Send send, Receive receive) {
  bool ok = !epochs.failed();
  const int64_t tile = whole_vecs_in(p.tile_bytes), first = block_id() * tile;
  for (int64_t begin = first; begin < vecs; begin += grid_blocks() * tile) {
    const int64_t end = begin + tile < vecs ? begin + tile : vecs;
    if (begin != first) {
      if (!block_all(ok)) return; // the whole block has emptied the tile before
      release_to_system();
    }
    Slots<N> mailboxes(p, epochs.advance());
    if (ok) send(mailboxes, begin, end);
    if (begin == first && !block_all(ok)) return; // all threads have read the epoch
    epochs.save(); // while vectors arrive
    receive(mailboxes, begin, end);
    ok = !mailboxes.failed();
  }
}
