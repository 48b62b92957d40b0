// An exchange (exchange.cuh): products that are added up over the ranks.
#pragma once

#include "exchange.cuh"

// Reduced adds the products of all ranks. Every rank makes the products of the shard of the rank after it first, and those of
// its own shard last. Where sums go to all ranks and products are pushed, it makes segments of shards in turn, so that
// sums are spread over the call and cross the links while it multiplies. Products of another rank's shard are sent to
// that rank, part by part. The staging of the owner has room for each part of each rank. The owner adds the parts that
// have arrived to its own sums, in rank order. kEverywhere: it then stores the sums in all ranks' C; else in its own.
//
// A part is sent in one of two ways.
//   Pushed: the kernel stores it to the owner's staging. The part is a chunk of its own, and the owner's kernel is
//   signaled (MatmulParams::produced).
//   Copied: the kernel stores it in this rank's outbox, from where the owner's copy engine pulls it, a chunk of parts at a
//   time. Parts are counted here, and the thread that counts the last part of a chunk signals the owner's stream
//   (produced). That stream copies the chunk and signals the owner's kernel (progress), which at the end signals the
//   sender (copied).
//
// No rank sends to one that has not begun the call: before, its staging or its C may still be in use. Sums depend on what
// the peers have sent, and so on their having begun. The thread that stores the last part of a rank's sums everywhere
// signals the peers (stored), whose kernels wait for that. Counters are zero between calls: the thread that counts the
// last part resets them. Other words hold epochs and are never reset. Ranks only store to each other's words, since not
// all links have atomics.
template <typename T, int kRows, int kColumns, int kPartRows, bool kEverywhere>
struct Reduced {
  const MatmulParams& p;
  static constexpr bool kGathers = false, kStoresLocally = false, kTransposes = false;
  uint32_t known_begun = kMaxRanks; // the last owner that is known to have begun
  FORCE_INLINE __device__ explicit Reduced(const MatmulParams& p) : p(p) {}

  FORCE_INLINE __device__ bool failed_earlier() const { return failed_in_earlier_call(p); }
  FORCE_INLINE __device__ void signal_begun() const {
    for (uint32_t r = thread_id(); r < p.base.world; r += block_threads())
      if (r != p.base.rank) signal_rank(p, p.begun, r);
  }
  FORCE_INLINE __device__ auto order() const {
    if constexpr (kEverywhere)
      return InterleavedOrder<kRows, kColumns>(p);
    else
      return TileOrder<kRows, kColumns>(p, p.base.world, (p.base.rank + 1) % p.base.world);
  }
  FORCE_INLINE __device__ bool is_local(const Tile& t) const { return t.owner == p.base.rank; }
  FORCE_INLINE __device__ static constexpr RowsState wait_for_rows(const Tile&, int) { return RowsState::kReady; }

  FORCE_INLINE __device__ bool adds_products(const Tile& t) const { return is_local(t); }
  FORCE_INLINE __device__ uint32_t peer_count() const { return p.base.world - 1; }
  FORCE_INLINE __device__ uint64_t products_address(int32_t part, uint32_t i) const { return p.staging + part_offset(peer(i), part); }

  FORCE_INLINE __device__ bool wait_for_products(int32_t part) const {
    const uint64_t words = is_copied() ? p.progress : p.produced;
    for (uint32_t i = 0; i < peer_count(); i++)
      if (!wait_for_word(p, word_address(words, chunk_of(peer(i), part)), p.epoch, kProducts, peer(i))) return false;
    return !is_copied() || !has_failed(p); // copies that were released may have written the words
  }

  FORCE_INLINE __device__ bool sends(const Tile& t) const { return !is_local(t); }
  FORCE_INLINE __device__ bool crosses_link(const Tile& t) const { return is_local(t) ? kEverywhere : !is_copied(); }
  FORCE_INLINE __device__ bool wait_for_owner(const Tile& t) {
    if (t.owner == known_begun) return true;
    if (!wait_for_word(p, word_address(p.begun, t.owner), p.epoch, kStartBarrier, t.owner)) return false;
    known_begun = t.owner;
    return true;
  }
  FORCE_INLINE __device__ uint64_t send_address(const Tile& t, int32_t part) const {
    return is_copied() ? p.outbox + part_offset(t.owner, part) : on_peer(p, p.staging + part_offset(p.base.rank, part), t.owner);
  }
  FORCE_INLINE __device__ void signal_sent(const Tile& t, int32_t part, bool has_rows) {
    if (!has_rows && (!is_copied() || !wait_for_owner(t))) return; // no rank waits for it, or the owner has not begun
    if (t.owner != known_begun) return; // it was not stored, even if the owner has begun since
    if (is_copied() && !count_is_last(word_address(p.counters, chunk_of(t.owner, part)), parts_of_chunk(part))) return;
    st_flag_release(on_peer(p, word_address(p.produced, chunk_of(p.base.rank, part)), t.owner), p.epoch);
  }

  FORCE_INLINE __device__ void count_stored() const {
    if constexpr (kEverywhere) {
      if (!count_is_last(p.stored_count, parts_with_rows(p.base.rank))) return;
      signal_rank(p, p.stored, p.base.rank);
      each_peer(p, [&](uint32_t r) { signal_rank(p, p.stored, r); });
    }
  }

  FORCE_INLINE __device__ uint32_t output_count(const Tile&) const { return kEverywhere ? p.base.world : 1; }
  FORCE_INLINE __device__ uint64_t output_address(const Tile& t, uint32_t i) const {
    return kEverywhere ? on_peer(p, shard_address(p, p.c, t), (p.base.rank + i) % p.base.world) : p.c;
  }

  // Only the kernel bounds its waits; after a time-out it releases the copies to this rank. It ends after them: a late peer
  // would otherwise overwrite the word that releases them with the epoch of an earlier call.
  FORCE_INLINE __device__ void wait_for_peers() const {
    if (is_copied()) {
      each_peer(p, [&](uint32_t r) {
        if (wait_for_word(p, last_word(r), p.epoch, kProducts, r)) signal_rank(p, p.copied, r);
      });
      each_peer(p, [&](uint32_t r) { wait_for_word(p, word_address(p.copied, r), p.epoch, kEndBarrier, r); });
    }
    if constexpr (kEverywhere) wait_for_sums();
    if (has_failed(p)) release_copies();
  }

  FORCE_INLINE __device__ void release_copies() const {
    if (!is_copied()) return;
    bool have_ended;
    Deadline deadline;
    do {
      have_ended = true;
      each_peer(p, [&](uint32_t r) {
#pragma nounroll
        for (uint32_t c = chunk_of(r, 0); c <= last_chunk(r); c++) st_flag_release(word_address(p.produced, c), p.epoch);
        have_ended = have_ended && !is_before(ld_flag_acquire(last_word(r)), p.epoch);
      });
    } while (!have_ended && !deadline.has_passed(p.base));
  }

 private:
  // Waits until all ranks have stored their sums everywhere: for this rank first, so that its waits for products expire
  // before those for the peers' sums.
  FORCE_INLINE __device__ void wait_for_sums() const {
    if (parts_with_rows(p.base.rank) > 0)
      while (is_before(ld_flag_acquire(word_address(p.stored, p.base.rank)), p.epoch) && !has_failed(p)) {}
    each_peer(p, [&](uint32_t r) {
      if (parts_with_rows(r) > 0) wait_for_word(p, word_address(p.stored, r), p.epoch, kEndBarrier, r);
    });
  }

  // The last chunk of a rank's products for this one, and its word of progress: a stream copies chunks in order.
  FORCE_INLINE __device__ uint32_t last_chunk(uint32_t rank) const { return chunk_of(rank, parts() - 1); }
  FORCE_INLINE __device__ uint64_t last_word(uint32_t rank) const { return word_address(p.progress, last_chunk(rank)); }

  // Counts one of `all` with a word of this rank. True for the thread that counts the last: everything stored before any
  // was counted is then visible to it, and the word is zero again.
  FORCE_INLINE __device__ static bool count_is_last(uint64_t word, uint32_t all) {
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(word) : "memory");
    if (before + 1 != all) return false;
    *(Global<volatile uint32_t>)word = 0;
    return true;
  }

  FORCE_INLINE __device__ bool is_copied() const { return p.outbox != 0; }

  // The peers' ranks, in order.
  FORCE_INLINE __device__ uint32_t peer(uint32_t i) const { return i < p.base.rank ? i : i + 1; }

  // The offset of a rank's part among the parts of all ranks.
  FORCE_INLINE __device__ int64_t part_offset(uint32_t rank, int32_t part) const {
    return ((int64_t)rank * parts() + part) * (kPartRows * kStagedPitch<kColumns>);
  }
  FORCE_INLINE __device__ int32_t parts() const { return order().per_shard() * (kRows / kPartRows); } // of a shard
  // The parts of a rank's shard that have rows.
  FORCE_INLINE __device__ uint32_t parts_with_rows(uint32_t rank) const {
    return (order().rows_of_shard(rank) + kPartRows - 1) / kPartRows * order().across();
  }
  FORCE_INLINE __device__ uint32_t chunk_of(uint32_t rank, int32_t part) const { return rank * p.splits + part / p.chunk_parts; }
  // The number of parts in the chunk of a part.
  FORCE_INLINE __device__ uint32_t parts_of_chunk(int32_t part) const {
    const uint32_t left = parts() - part / p.chunk_parts * p.chunk_parts;
    return left < p.chunk_parts ? left : p.chunk_parts;
  }
};

template <typename T, int kRows, int kColumns, int kPartRows>
using Scattered = Reduced<T, kRows, kColumns, kPartRows, false>;
template <typename T, int kRows, int kColumns, int kPartRows>
using Everywhere = Reduced<T, kRows, kColumns, kPartRows, true>;
