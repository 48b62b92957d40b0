// Packets: data that carries its own flag, so that no barrier is needed.
//
// A packet is 16 bytes: two 64-bit words, each of four bytes of data and the
// epoch. A 64-bit word arrives whole; the two may arrive apart, and each is checked
// (the LL protocol of NCCL). A rank pushes packets into slots in its peers'
// memory, and polls those in its own.
//
// Every block has two slots, used in turn by the parity of the epoch, with room
// for the packets of all ranks. A slot is written again two epochs later. By
// then the writer has had packets of the epoch between from every rank, each
// sent after that rank's whole block was done with the slot. Where data goes one way
// only, those that have none to give therefore send vector 0 of every tile all the
// same, whatever it holds, and all wait for it.
//
// Packets are relaxed: what orders a slot's reuse is that a poll has returned
// before the block meets and sends on, as in NCCL, or before its launch ends.
//
// The packets' memory starts as zeros, an epoch that never comes, and is used
// for nothing else. Only a word that nobody has written for 2^32 epochs could pass
// for new.
#pragma once

#include "barrier.cuh"
#include "mail.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kPacketsPerVec = 2;
constexpr int kPacketBytes = 16;

// The packets of one vector.
struct Packets {
  uint64_t word[4];

  FORCE_INLINE __device__ bool are_of(uint32_t epoch) const {
    return word[0] >> 32 == epoch && word[1] >> 32 == epoch && word[2] >> 32 == epoch && word[3] >> 32 == epoch;
  }
  FORCE_INLINE __device__ Vec data() const {
    return Vec{(uint32_t)word[0], (uint32_t)word[1], (uint32_t)word[2], (uint32_t)word[3]};
  }
};

FORCE_INLINE __device__ void push_packets(uint64_t to, Vec v, uint32_t epoch) {
  const uint64_t flag = (uint64_t)epoch << 32;
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(flag | v.x), "l"(flag | v.y) : "memory");
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to + kPacketBytes), "l"(flag | v.z),
               "l"(flag | v.w)
               : "memory");
}

FORCE_INLINE __device__ Packets poll_packets(uint64_t at) {
  Packets got;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];" : "=l"(got.word[0]), "=l"(got.word[1]) : "l"(at) : "memory");
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(got.word[2]), "=l"(got.word[3])
               : "l"(at + kPacketBytes)
               : "memory");
  return got;
}

// Mail is one block's packets of one epoch. All ranks cut their parts into the
// same tiles. Once a wait has failed, all later ones fail at once.
template <int N>
class Mail {
 public:
  FORCE_INLINE __device__ Mail(const Params& p, uint32_t epoch)
      : p_(p), epoch_(epoch), slot_(p.packet_offset + (int64_t)(2 * block_id() + epoch % 2) * kPacketSlotBytes) {}

  // Sends vector i of the tile to a rank.
  FORCE_INLINE __device__ void send(uint32_t to, int64_t i, Vec v) const {
    push_packets(p_.peers[to] + offset(p_.rank, i), v, epoch_);
  }

  // Waits for vector i of the tile from every peer, passes first the vector of
  // rank 0 and then each of the others', in the order of ranks. The own one is
  // passed in.
  template <typename First, typename Each>
  FORCE_INLINE __device__ void receive(int64_t i, Vec own, First first, Each each) {
    receive_at([&](uint32_t) { return i; }, own, first, each);
  }

  // Does so for vector at(r) from rank r.
  template <typename At, typename First, typename Each>
  FORCE_INLINE __device__ void receive_at(At at, Vec own, First first, Each each) {
    if constexpr (N == 0) {
      const auto from = [&](uint32_t r) { return r == p_.rank ? own : await<1>(r, at).of[0]; };
      first(from(0));
      each_rank<0, 1>(p_, [&](uint32_t r) { each(r, from(r)); });
    } else {
      const Letters<N> letters = await<N>(0, at);
      const auto from = [&](uint32_t r) { return r == p_.rank ? own : letters.of[r]; };
      first(from(0));
      each_rank<N, 1>(p_, [&](uint32_t r) { each(r, from(r)); });
    }
  }

  FORCE_INLINE __device__ bool failed() const { return failed_; }

 private:
  // Polls until vector at(r) has come from each rank r of kRanks, without the own
  // one. All polls are on their way before the first is looked at.
  template <int kRanks, typename At>
  FORCE_INLINE __device__ Letters<kRanks> await(uint32_t first, At at) {
    for (Patience patience;;) {
      Packets seen[kRanks] = {};
      uint32_t missing = kMaxRanks, found = 0;
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++)
        if (first + k != p_.rank) seen[k] = poll_packets(p_.peers[p_.rank] + offset(first + k, at(first + k)));
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++) {
        if (first + k == p_.rank || seen[k].are_of(epoch_)) continue;
        missing = first + k;
        found = seen[k].word[0] >> 32;
      }
      if (missing != kMaxRanks && !failed_ && patience.is_over(p_)) {
        record_fault(p_, kPackets, missing, epoch_, found);
        failed_ = true;
      }
      if (missing != kMaxRanks && !failed_) continue;
      Letters<kRanks> letters;
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++) letters.of[k] = seen[k].data();
      return letters;
    }
  }

  // Where vector i from a rank lies, from the base of symmetric memory.
  FORCE_INLINE __device__ int64_t offset(uint32_t from, int64_t i) const {
    const int64_t of_rank = p_.tile_bytes * (kPacketsPerVec * kPacketBytes / kVecBytes);
    return slot_ + from * of_rank + i * kPacketsPerVec * kPacketBytes;
  }

  const Params& p_;
  uint32_t epoch_;
  int64_t slot_;
  bool failed_ = false;
};

// How many vectors of a rank fit into a slot when N ranks share it.
template <int N>
constexpr int kMostTileVecs = kPacketSlotBytes / (kPacketsPerVec * kPacketBytes) / (N == 0 ? 1 : N);

// Trades parts of p.bytes among all ranks, tile by tile. send(mail, i, at) sends
// vector i of the parts, which is vector at of the tile; receive(mail, begin, end)
// takes in vectors [begin, end), of which begin is the tile's first.
//
// In the first tile threads send before they have met: the launch before has ended, and with it all use of
// the slot. Where another block's wait expires just then, some send and some do not, and peers miss those.
template <int N, typename Send, typename Receive>
FORCE_INLINE __device__ void trade(const Params& p, Epochs& epochs, Send send, Receive receive) {
  bool ok = !epochs.broken();
  const int64_t tile = whole_vecs_in(p.tile_bytes), vecs = vecs_in(p.bytes), first = block_id() * tile;
  for (int64_t begin = first; begin < vecs; begin += grid_blocks() * tile) {
    const int64_t end = begin + tile < vecs ? begin + tile : vecs;
    if (begin != first && !block_all(ok)) return; // the whole block is done with the tile before
    Mail<N> mail(p, epochs.advance());
    if (ok)
      for (int64_t i = begin + thread_id(); i < end; i += block_threads()) send(mail, i, i - begin);
    if (begin == first && !block_all(ok)) return; // all have read the count
    epochs.save(); // while packets are on their way
    receive(mail, begin, end);
    ok = !mail.failed();
  }
}
