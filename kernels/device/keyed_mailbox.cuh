// Mailboxes for any bits. A mailbox (mailbox.cuh) does not keep a word of all ones. Here a warp sends its 32 vectors, a row, as
// their difference (xor) from a key, which is a word such that no difference is all ones. The key follows in a vector of its
// own, for 3% of the bytes.
//
// Layout: the vectors of a tile, and then the keys of its rows. The first lane of a row sends and receives the key.
#pragma once

#include "mailbox.cuh"

constexpr uint32_t kRowLanes = 32; // the lanes of a warp, a vector each

// Calls f(index, has) in all lanes of each warp for its rows of [begin, end). `has` is false beyond the end.
template <typename F>
FORCE_INLINE __device__ void each_row(int64_t begin, int64_t end, F f) {
  const uint32_t lane = thread_id() % kRowLanes;
#pragma nounroll
  for (int64_t i = begin + thread_id(); i - lane < end; i += block_threads()) f(i, i < end);
}

// A key for the rows in which each lane has vectors of[0], of[1], ...: no word is its inverse. All lanes of the warp call it;
// vectors that a lane does not have are zeros.
template <int kVecs>
FORCE_INLINE __device__ uint32_t key_for(const Vectors<kVecs>& vectors) {
  for (uint32_t key = 0x9e3779b9;; key += 2) { // odd, so never 0; one of any 129 is a key for a row's 128 words
    bool fits = true;
#pragma unroll
    for (int k = 0; k < kVecs; k++) {
      const Vec sent = vectors.of[k] ^ key;
      const uint32_t none = 0xffffffff;
      fits = fits && sent.x != none && sent.y != none && sent.z != none && sent.w != none;
    }
    if (__nvvm_vote_all_sync(0xffffffff, fits)) return key;
  }
}

// KeyedMailboxes sends and receives rows. All lanes of a warp call a function for the same row, each with the index of its
// vector in the tile; `has` says whether it has a vector.
template <int N>
class KeyedMailboxes : public Mailboxes<N> {
 public:
  FORCE_INLINE __device__ KeyedMailboxes(const Params& p, uint32_t epoch)
      : Mailboxes<N>(p, epoch, rows_in(whole_vecs_in(p.tile_bytes))), keys_(whole_vecs_in(p.tile_bytes)) {}

  // Stores a row to `mailbox` on every rank that each(f) calls f with.
  template <typename Each>
  FORCE_INLINE __device__ void send_row(uint32_t mailbox, int64_t index, bool has, Vec v, Each each) const {
    const uint32_t key = key_for(Vectors<1>{has ? v : Vec{}});
    each([&](uint32_t to) {
      if (has) this->send(to, mailbox, index, v ^ key);
      if (is_first()) this->send(to, mailbox, key_at(index), Vec{key, key, key, key});
    });
  }

  // Waits for a row from every peer r, in mailbox r. Calls each(rank, vector) for all ranks in order; `own` stands for this
  // rank's vector.
  template <typename Each>
  FORCE_INLINE __device__ void receive_rows(int64_t index, bool has, Vec own, Each each) {
    const Params& p = this->params();
    if constexpr (N == 0) {
      each_rank<0, 0>(p, [&](uint32_t r) { each(r, r == p.rank ? own : receive_row(r, index, has)); });
    } else {
      const auto from = [&](uint32_t k) { return k % N; };
      const auto at = [&](uint32_t k) { return this->offset(from(k), k < N ? index : key_at(index)); };
      const auto expected = [&](uint32_t k) { return from(k) != p.rank && (k < N ? has : is_first()); };
      const Vectors<2 * N> got = this->template poll_each<2 * N>(from, at, expected);
      each_rank<N, 0>(p, [&](uint32_t r) { each(r, r == p.rank ? own : got.of[r] ^ from_first_lane(got.of[N + r].x)); });
    }
  }

  // Waits for a row from a rank, in the mailbox of its number.
  FORCE_INLINE __device__ Vec receive_row(uint32_t rank, int64_t index, bool has) {
    const auto from = [&](uint32_t) { return rank; };
    const auto at = [&](uint32_t k) { return this->offset(rank, k == 0 ? index : key_at(index)); };
    const auto expected = [&](uint32_t k) { return k == 0 ? has : is_first(); };
    const Vectors<2> got = this->template poll_each<2>(from, at, expected);
    return got.of[0] ^ from_first_lane(got.of[1].x);
  }

 private:
  static FORCE_INLINE __device__ bool is_first() { return thread_id() % kRowLanes == 0; }
  static FORCE_INLINE __device__ int64_t rows_in(int64_t vecs) { return (vecs + kRowLanes - 1) / kRowLanes; }
  FORCE_INLINE __device__ int64_t key_at(int64_t index) const { return keys_ + index / kRowLanes; }

  int64_t keys_; // the index of the first key
};
