// Packets: data that carries its own flag, so that no barrier is needed (the LL protocol of NCCL).
//
// Layout: a packet is 16 bytes, two 64-bit words, each of four bytes of data and the epoch. A 64-bit word arrives whole;
// the two words of a packet may arrive apart, so each is checked. A rank stores packets to slots in its peers' memory
// and polls the slots in its own.
//
// Slots: every block has two, used in turn by the parity of the epoch, each with room for one tile of packets from every
// rank. A slot is written again two epochs later. By then the writer has received packets of the epoch in between from
// every rank, and each rank sent those after its whole block had read the slot. Where data goes one way only, ranks
// without data therefore still send vector 0 of every tile, with any content, and all ranks wait for it.
//
// Memory order: loads and stores of packets are relaxed. The reuse of a slot is ordered because a poll has returned before
// the block synchronizes and sends again, as in NCCL, or before its launch ends.
//
// The packets' memory starts as zeros, an epoch that never occurs, and is used for nothing else. Only a word that no rank
// has written for 2^32 epochs could be mistaken for a new one.
#pragma once

#include "barrier.cuh"
#include "peer_vectors.cuh"
#include "reduce.cuh"
#include "vector.cuh"

constexpr int kPacketsPerVec = 2;
constexpr int kPacketBytes = 16;

// The packets of one vector.
struct Packets {
  uint64_t word[4];

  FORCE_INLINE __device__ bool all_carry(uint32_t epoch) const {
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

// PacketSlot is one block's slot in one epoch, on all ranks. All ranks cut their parts into the same tiles. Once a wait
// has failed, all later ones fail at once.
template <int N>
class PacketSlot {
 public:
  FORCE_INLINE __device__ PacketSlot(const Params& p, uint32_t epoch)
      : p_(p), epoch_(epoch), slot_(p.packet_offset + (int64_t)(2 * block_id() + epoch % 2) * kPacketSlotBytes) {}

  // Stores vector i of the tile to a rank's slot.
  FORCE_INLINE __device__ void send(uint32_t to, int64_t i, Vec v) const {
    push_packets(p_.peers[to] + offset(p_.rank, i), v, epoch_);
  }

  // Waits for vector i of the tile from every peer. Calls first(vector) for rank 0 and then each(rank, vector) for the
  // other ranks, in rank order; `own` stands for this rank's vector.
  template <typename First, typename Each>
  FORCE_INLINE __device__ void receive(int64_t i, Vec own, First first, Each each) {
    receive_at([&](uint32_t) { return i; }, own, first, each);
  }

  // The same for vector at(r) of the tile from rank r.
  template <typename At, typename First, typename Each>
  FORCE_INLINE __device__ void receive_at(At at, Vec own, First first, Each each) {
    if constexpr (N == 0) {
      const auto from = [&](uint32_t r) { return r == p_.rank ? own : poll<1>(r, at).of[0]; };
      first(from(0));
      each_rank<0, 1>(p_, [&](uint32_t r) { each(r, from(r)); });
    } else {
      const Vectors<N> vectors = poll<N>(0, at);
      const auto from = [&](uint32_t r) { return r == p_.rank ? own : vectors.of[r]; };
      first(from(0));
      each_rank<N, 1>(p_, [&](uint32_t r) { each(r, from(r)); });
    }
  }

  FORCE_INLINE __device__ bool failed() const { return failed_; }

 private:
  // Polls until vector at(r) has arrived from each of kRanks ranks from `first` on, except this one. All loads are issued
  // before the first is checked. A wait that fails returns any data.
  template <int kRanks, typename At>
  FORCE_INLINE __device__ Vectors<kRanks> poll(uint32_t first, At at) {
    for (Deadline deadline;;) {
      Packets seen[kRanks] = {};
      uint32_t missing = kMaxRanks, found = 0;
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++)
        if (first + k != p_.rank) seen[k] = poll_packets(p_.peers[p_.rank] + offset(first + k, at(first + k)));
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++) {
        if (first + k == p_.rank || seen[k].all_carry(epoch_)) continue;
        missing = first + k;
        found = seen[k].word[0] >> 32;
      }
      if (missing != kMaxRanks && !failed_ && deadline.has_passed(p_)) {
        record_fault(p_, kPackets, missing, epoch_, found);
        failed_ = true;
      }
      if (missing != kMaxRanks && !failed_) continue;
      Vectors<kRanks> vectors;
#pragma unroll
      for (uint32_t k = 0; k < kRanks; k++) vectors.of[k] = seen[k].data();
      return vectors;
    }
  }

  // The offset of vector i from a rank, from the base of symmetric memory.
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

// Exchanges parts of p.bytes among all ranks, tile by tile. send(slot, i, at) sends vector i of the part, which is vector
// `at` of the tile; receive(slot, begin, end) receives vectors [begin, end), which are the tile's.
//
// In the first tile threads send before the block has synchronized: the previous launch has ended, and with it all use of
// the slot. If another block's wait expires at that moment, some threads send and others do not, and the peers time out.
template <int N, typename Send, typename Receive>
FORCE_INLINE __device__ void exchange_packets(const Params& p, Epochs& epochs, Send send, Receive receive) {
  bool ok = !epochs.failed();
  const int64_t tile = whole_vecs_in(p.tile_bytes), vecs = vecs_in(p.bytes), first = block_id() * tile;
  for (int64_t begin = first; begin < vecs; begin += grid_blocks() * tile) {
    const int64_t end = begin + tile < vecs ? begin + tile : vecs;
    if (begin != first && !block_all(ok)) return; // the whole block has read the tile before
    PacketSlot<N> slot(p, epochs.advance());
    if (ok)
      for (int64_t i = begin + thread_id(); i < end; i += block_threads()) send(slot, i, i - begin);
    if (begin == first && !block_all(ok)) return; // all threads have read the epoch
    epochs.save(); // while packets arrive
    receive(slot, begin, end);
    ok = !slot.failed();
  }
}
