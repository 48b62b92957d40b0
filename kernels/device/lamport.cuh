// Mailboxes: vectors that are their own flags. They need no barrier, and no byte beside the data.
//
// What is zero is empty. A vector is sent as the inverted bits of its four 32-bit words, of which
// none may be zero. A word of ones would be: of floats of up to 32 bits it holds NaNs alone, and is sent
// as if its highest bit, a NaN's sign, were not set; reductions make the same NaN of both. A word
// arrives whole; the four may arrive apart, and each is checked. Who has taken a vector stores
// zeros in its place. (Lamport's queue of one writer and one reader, 1977; TensorRT-LLM, too, has
// an allreduce by such.)
//
// Every block has two slots, used in turn by the parity of the epoch, which each call cuts into boxes
// of a tile. A slot is written again two epochs later. In the epoch between, the writer has heard
// of every rank, or of one that had; and a rank sends nothing in an epoch before its whole block
// has emptied all boxes of the one before. So nobody finds anything of an older epoch in a slot,
// however calls cut it.
//
// Memory order: loads and stores are relaxed. What orders a slot's reuse is that zeros are in
// memory before their rank sends anything in the next epoch, by a fence between the tiles of a launch, else
// because the launch before has ended; and that a writer's polls have returned before its block
// meets and sends on, or before its launch ends.
//
// A wait that fails gives anything for a vector. Who sends what rests on waits asks failed()
// first, so that the peers miss it.
//
// The mailboxes' memory starts as zeros, at packet_offset, and is used for nothing else.
#pragma once

#include "barrier.cuh"
#include "mail.cuh"
#include "reduce.cuh"
#include "vector.cuh"

// A word as it is sent.
FORCE_INLINE __device__ uint32_t sealed(uint32_t word) { return word == 0xffffffff ? 0x80000000 : ~word; }

// Mailboxes are one block's of one epoch. Once a wait has failed, all later ones fail at once.
template <int N>
class Mailboxes {
 public:
  FORCE_INLINE __device__ Mailboxes(const Params& p, uint32_t epoch)
      : p_(p), epoch_(epoch), slot_(p.packet_offset + (int64_t)(2 * block_id() + epoch % 2) * kMailSlotBytes) {}

  // Sends a rank a vector, for a place of its box.
  FORCE_INLINE __device__ void send(uint32_t to, uint32_t box, int64_t place, Vec v) const {
    put(p_.peers[to] + offset(box, place), Vec{sealed(v.x), sealed(v.y), sealed(v.z), sealed(v.w)});
  }

  // Waits for the vector of every peer, in the box of its rank, passes first the vector of rank 0 and then each
  // of the others', in the order of ranks. The own one is passed in.
  template <typename First, typename Each>
  FORCE_INLINE __device__ void receive(int64_t place, Vec own, First first, Each each) {
    const auto from_peer = [&](uint32_t r) { return r != p_.rank; };
    const auto pass = [&](uint32_t r, Vec v) {
      if (r == 0)
        first(v);
      else
        each(r, v);
    };
    take_some(0, place, from_peer, [&](uint32_t r, Vec v) { pass(r, r == p_.rank ? own : v); });
  }

  // Waits for the vectors of the ranks that are expected, in boxes from the first on, and passes them, and anything for the
  // others, to each(rank, vector) in the order of ranks.
  template <typename Expected, typename Each>
  FORCE_INLINE __device__ void take_some(uint32_t first_box, int64_t place, Expected expected, Each each) {
    if constexpr (N == 0) {
      each_rank<0, 0>(p_, [&](uint32_t r) { each(r, await<1>(first_box, r, place, expected).of[0]); });
    } else {
      const Letters<N> letters = await<N>(first_box, 0, place, expected);
      each_rank<N, 0>(p_, [&](uint32_t r) { each(r, letters.of[r]); });
    }
  }

  // Waits for the vector of one rank, which may be this one.
  FORCE_INLINE __device__ Vec take_one(uint32_t first_box, uint32_t rank, int64_t place) {
    return await<1>(first_box, rank, place, [](uint32_t) { return true; }).of[0];
  }

  // Waits from here on rest on those of the peers before. They expire later than these, so that the rank that did not
  // come is the one that is named, and at once when any other wait of this rank has expired.
  FORCE_INLINE __device__ void next_step() { steps_++; }

  FORCE_INLINE __device__ bool failed() const { return failed_; }

 private:
  // Polls until the expected vectors of ranks [first, first + kRanks) are there, and empties their
  // boxes. All polls are on their way before the first is looked at.
  template <int kRanks, typename Expected>
  FORCE_INLINE __device__ Letters<kRanks> await(uint32_t first_box, uint32_t first, int64_t place, Expected expected) {
    const auto at = [&](uint32_t k) { return p_.peers[p_.rank] + offset(first_box + first + k, place); };
    Letters<kRanks> seen = {};
#pragma unroll
    for (uint32_t k = 0; k < kRanks; k++)
      if (expected(first + k)) seen.of[k] = look(at(k));
    for (Patience patience;;) {
      uint32_t missing = kMaxRanks;
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++)
        if (expected(first + k) && !is_full(seen.of[k])) missing = first + k;
      if (missing == kMaxRanks || failed_) break;
      if (patience.is_over(p_, steps_)) {
        record_fault(p_, kPackets, missing, epoch_, 0);
        failed_ = true;
      }
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++)
        if (expected(first + k) && !is_full(seen.of[k])) seen.of[k] = look(at(k));
    }
#pragma unroll
    for (uint32_t k = 0; k < kRanks; k++) {
      if (expected(first + k)) put(at(k), Vec{});
      seen.of[k] = ~seen.of[k];
    }
    return seen;
  }

  static FORCE_INLINE __device__ bool is_full(Vec v) { return v.x != 0 && v.y != 0 && v.z != 0 && v.w != 0; }

  static FORCE_INLINE __device__ void put(uint64_t at, Vec v) {
    asm volatile("st.relaxed.sys.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
  }

  static FORCE_INLINE __device__ Vec look(uint64_t at) {
    Vec v;
    asm volatile("ld.relaxed.sys.global.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at)
                 : "memory");
    return v;
  }

  // Where a place of a box is, from the base of symmetric memory.
  FORCE_INLINE __device__ int64_t offset(uint32_t box, int64_t place) const {
    return slot_ + box * p_.tile_bytes + place * kVecBytes;
  }

  const Params& p_;
  uint32_t epoch_;
  int64_t slot_;
  uint32_t steps_ = 1;
  bool failed_ = false;
};

// How many vectors fit into a box when a slot has so many boxes for each of N ranks, but no more than a row.
template <int N, int kBoxes>
constexpr int kMostBoxVecs = kMailSlotBytes / kVecBytes / kBoxes / (N == 0 ? 1 : N) < kMaxRowVecs
                                 ? kMailSlotBytes / kVecBytes / kBoxes / (N == 0 ? 1 : N)
                                 : kMaxRowVecs;

// Exchanges parts of so many vectors among all ranks, tile by tile: send(mail, begin, end) and then receive(mail, begin,
// end) do so with vectors [begin, end) of the parts, of which begin is the tile's first.
template <int N, typename Send, typename Receive>
FORCE_INLINE __device__ void exchange(const Params& p, Epochs& epochs, int64_t vecs, Send send, Receive receive) {
  bool ok = !epochs.broken();
  const int64_t tile = whole_vecs_in(p.tile_bytes), first = block_id() * tile;
  for (int64_t begin = first; begin < vecs; begin += grid_blocks() * tile) {
    const int64_t end = begin + tile < vecs ? begin + tile : vecs;
    if (begin != first) {
      if (!block_all(ok)) return; // the whole block is done with the tile before
      release_to_system();
    }
    Mailboxes<N> mail(p, epochs.advance());
    if (ok) send(mail, begin, end);
    if (begin == first && !block_all(ok)) return; // all have read the count
    epochs.save(); // while vectors are on their way
    receive(mail, begin, end);
    ok = !mail.failed();
  }
}
