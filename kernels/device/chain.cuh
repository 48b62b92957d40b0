// Chains: the ranks stand in a row, and each pushes vectors on to the next one. Each link carries the data once, from one GPU
// to one other.
//
// Vectors are their own flags, as in mailboxes (mailbox.cuh). Unlike there, the receiver has room for every vector of a launch:
// nothing is written twice, and no fence stands between vectors. A thread that has taken a vector stores zeros in its place.
// The first barrier of a launch says that the zeros of the launch before are in memory.
//
// Memory order: none between vectors, beyond that of a 32-bit word, which arrives whole.
//
// Time-outs: a rank whose wait has expired sends nothing more. A rank waits for an eighth of a time-out longer than the one
// before it, so that the wait for the rank that is really missing expires first. The ranks before that one have gone on to the
// next launch: Epochs::sync_first_in_order names it there.
//
// The memory for vectors that arrive lies at Params::packet_offset, starts as zeros, and is used for nothing else.
#pragma once

#include "mailbox.cuh"

// Link is a rank's place in the chain.
class Link {
 public:
  // `place` ranks are before this one. The next one has the next number; rank 0 comes behind the last number.
  FORCE_INLINE __device__ Link(const Params& p, uint32_t place)
      : p_(p),
        place_(place),
        in_(p.peers[p.rank] + p.packet_offset),
        out_(p.peers[p.rank + 1 < p.world ? p.rank + 1 : 0] + p.packet_offset) {}

  FORCE_INLINE __device__ bool is_first() const { return place_ == 0; }
  FORCE_INLINE __device__ bool is_last() const { return place_ + 1 == p_.world; }

  // Stores vector i, of which no word is 0, to the next rank.
  FORCE_INLINE __device__ void send(int64_t i, Vec v) const { st_mailbox(out_ + i * kVecBytes, v); }

  // Waits for vectors at(k) for which expected(k) is true, and leaves zeros in their places. False if the wait has expired.
  template <int kVecs, typename At, typename Expected>
  FORCE_INLINE __device__ bool receive(At at, Expected expected, Vectors<kVecs>& arrived) const {
    const auto address = [&](int k) { return in_ + at(k) * kVecBytes; };
    const auto missing = [&](int k) { return expected(k) && !is_full(arrived.of[k]); };
#pragma unroll
    for (int k = 0; k < kVecs; k++)
      if (expected(k)) arrived.of[k] = ld_mailbox(address(k));
    for (Deadline deadline;;) {
      bool any_missing = false;
#pragma unroll
      for (int k = 0; k < kVecs; k++) any_missing |= missing(k);
      if (!any_missing) break;
      if (deadline.has_passed(p_, 1, place_ - 1)) {
        record_fault(p_, kPackets, p_.rank == 0 ? p_.world - 1 : p_.rank - 1, 1, 0);
        return false;
      }
#pragma unroll
      for (int k = 0; k < kVecs; k++)
        if (missing(k)) arrived.of[k] = ld_mailbox(address(k));
    }
#pragma unroll
    for (int k = 0; k < kVecs; k++)
      if (expected(k)) st_mailbox(address(k), Vec{});
    return true;
  }

 private:
  const Params& p_;
  uint32_t place_;
  uint64_t in_, out_;
};
