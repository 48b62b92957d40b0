// A job of output.cuh: products that are added up over the ranks.
#pragma once

#include "output.cuh"

// Summed adds the products of all ranks. Every rank makes those of the rank after it
// first, and its own last: of whole shards or, where sums go everywhere and products are pushed, of segments of them, so
// that sums are spread over the call and cross the links while it multiplies. What is not its own it sends to the owner,
// part by part, who has a place in its staging for each part of each rank, and adds to its own sums what has arrived, in
// the order of ranks. kEverywhere: it then stores the sum in all ranks' C.
//
// A part is sent in one of two ways. Pushed, the kernel stores it at the owner's. Copied, it
// stores it in this rank's outbox, from where the owner's copy engine pulls it, a chunk of parts at a time.
// Pushed, it is a chunk of its own, and the owner's kernel is told. Copied, it is counted here, and whoever counts the last
// part of a chunk tells the owner's stream. That tells its kernel by a word of progress, and the kernel at the end the
// sender, who waits for that.
//
// Nobody sends to a rank that has not begun the call: before, what it was sent may still be in use, wherever it
// lies, or C. Sums rest on what the peers have sent, and so on their having begun. Whoever stores the last part of a
// rank's sums everywhere tells the peers, whose kernels wait for that. Counters are zero between calls: who
// counts the last resets it. Words are epochs, which nobody resets. What ranks do to each other's are stores: not all
// links have atomics.
template <typename T, int kRows, int kColumns, int kPartRows, bool kEverywhere>
struct Summed {
  const MatmulParams& p;
  static constexpr bool kGathers = false;
  uint32_t begun = kMaxRanks; // an owner that is known to have begun
  FORCE_INLINE __device__ explicit Summed(const MatmulParams& p) : p(p) {}

  FORCE_INLINE __device__ bool stops() const { return failed_before(p); }
  FORCE_INLINE __device__ void announce() const {
    for (uint32_t r = thread_id(); r < p.base.world; r += block_threads())
      if (r != p.base.rank) tell(p, p.ready, r);
  }
  FORCE_INLINE __device__ auto order() const {
    if constexpr (kEverywhere)
      return Interleaved<kRows, kColumns>(p);
    else
      return Tiles<kRows, kColumns>(p, p.base.world, (p.base.rank + 1) % p.base.world);
  }
  FORCE_INLINE __device__ bool is_own(const Tile& t) const { return t.owner == p.base.rank; }
  FORCE_INLINE __device__ static constexpr Arrival await_rows(const Tile&, int) { return Arrival::kThere; }

  FORCE_INLINE __device__ bool adds(const Tile& t) const { return is_own(t); }
  FORCE_INLINE __device__ uint32_t peers() const { return p.base.world - 1; }
  FORCE_INLINE __device__ uint64_t products(int32_t part, uint32_t i) const { return p.staging + place(peer(i), part); }

  FORCE_INLINE __device__ bool await_products(int32_t part) const {
    const uint64_t words = is_copied() ? p.progress : p.made;
    for (uint32_t i = 0; i < peers(); i++)
      if (!await_word(p, word_of(words, chunk_of(peer(i), part)), p.epoch, kProducts, peer(i))) return false;
    return !is_copied() || !has_failed(p); // copies that were let go may have written the words
  }

  FORCE_INLINE __device__ bool sends(const Tile& t) const { return !is_own(t); }
  FORCE_INLINE __device__ bool crosses(const Tile& t) const { return is_own(t) ? kEverywhere : !is_copied(); }
  FORCE_INLINE __device__ bool await_owner(const Tile& t) {
    if (t.owner == begun) return true;
    if (!await_word(p, word_of(p.ready, t.owner), p.epoch, kStartBarrier, t.owner)) return false;
    begun = t.owner;
    return true;
  }
  FORCE_INLINE __device__ uint64_t owners(const Tile& t, int32_t part) const {
    return is_copied() ? p.outbox + place(t.owner, part) : on_peer(p, p.staging + place(p.base.rank, part), t.owner);
  }
  FORCE_INLINE __device__ void sent(const Tile& t, int32_t part, bool has_rows) {
    if (!has_rows && (!is_copied() || !await_owner(t))) return; // nobody waits for it, or nobody is there
    if (t.owner != begun) return; // it was not to be stored, even if the owner has begun since
    if (is_copied() && !counts_last(word_of(p.counters, chunk_of(t.owner, part)), parts_of_chunk(part))) return;
    st_flag_release(on_peer(p, word_of(p.made, chunk_of(p.base.rank, part)), t.owner), p.epoch);
  }

  FORCE_INLINE __device__ void kept() const {
    if constexpr (kEverywhere) {
      if (!counts_last(p.kept, parts_with_rows(p.base.rank))) return;
      tell(p, p.done, p.base.rank);
      each_peer(p, [&](uint32_t r) { tell(p, p.done, r); });
    }
  }

  FORCE_INLINE __device__ uint32_t targets(const Tile&) const { return kEverywhere ? p.base.world : 1; }
  FORCE_INLINE __device__ uint64_t target(const Tile& t, uint32_t i) const {
    return kEverywhere ? on_peer(p, shard_of(p, p.c, t), (p.base.rank + i) % p.base.world) : p.c;
  }

  // Only the kernel gives up waiting: it then lets the copies to this rank go. It ends behind them: a peer that comes
  // late, with the epoch of an earlier call, would take from them what lets them go.
  FORCE_INLINE __device__ void await_peers() const {
    if (is_copied()) {
      each_peer(p, [&](uint32_t r) {
        if (await_word(p, last_word(r), p.epoch, kProducts, r)) tell(p, p.taken, r);
      });
      each_peer(p, [&](uint32_t r) { await_word(p, word_of(p.taken, r), p.epoch, kEndBarrier, r); });
    }
    if constexpr (kEverywhere) await_sums();
    if (has_failed(p)) let_copies_go();
  }

  FORCE_INLINE __device__ void let_copies_go() const {
    if (!is_copied()) return;
    bool have_gone;
    Deadline deadline;
    do {
      have_gone = true;
      each_peer(p, [&](uint32_t r) {
#pragma nounroll
        for (uint32_t c = chunk_of(r, 0); c <= last_chunk(r); c++) st_flag_release(word_of(p.made, c), p.epoch);
        have_gone = have_gone && !is_behind(ld_flag_acquire(last_word(r)), p.epoch);
      });
    } while (!have_gone && !deadline.has_passed(p.base));
  }

 private:
  // Waits until all ranks have stored their sums everywhere: this one first, whose waits for products expire before
  // those for what the peers do with theirs.
  FORCE_INLINE __device__ void await_sums() const {
    if (parts_with_rows(p.base.rank) > 0)
      while (is_behind(ld_flag_acquire(word_of(p.done, p.base.rank)), p.epoch) && !has_failed(p)) {}
    each_peer(p, [&](uint32_t r) {
      if (parts_with_rows(r) > 0) await_word(p, word_of(p.done, r), p.epoch, kEndBarrier, r);
    });
  }

  // The last chunk of a rank's products for this one, and its word of progress: a stream copies one after the other.
  FORCE_INLINE __device__ uint32_t last_chunk(uint32_t rank) const { return chunk_of(rank, parts() - 1); }
  FORCE_INLINE __device__ uint64_t last_word(uint32_t rank) const { return word_of(p.progress, last_chunk(rank)); }

  // Counts one of so many with a word of this rank. True for who counts the last: all that was stored before any was
  // counted is visible then, and the word is zero again.
  FORCE_INLINE __device__ static bool counts_last(uint64_t word, uint32_t all) {
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(word) : "memory");
    if (before + 1 != all) return false;
    *(Global<volatile uint32_t>)word = 0;
    return true;
  }

  FORCE_INLINE __device__ bool is_copied() const { return p.outbox != 0; }

  // The peers' ranks, in order.
  FORCE_INLINE __device__ uint32_t peer(uint32_t i) const { return i < p.base.rank ? i : i + 1; }

  // The place of a rank's part among those of all ranks.
  FORCE_INLINE __device__ int64_t place(uint32_t rank, int32_t part) const {
    return ((int64_t)rank * parts() + part) * (kPartRows * kOutPitch<kColumns>);
  }
  FORCE_INLINE __device__ int32_t parts() const { return order().per_shard() * (kRows / kPartRows); } // of a shard
  // The parts of a rank's shard that have rows.
  FORCE_INLINE __device__ uint32_t parts_with_rows(uint32_t rank) const {
    return (order().rows_of_shard(rank) + kPartRows - 1) / kPartRows * order().across();
  }
  FORCE_INLINE __device__ uint32_t chunk_of(uint32_t rank, int32_t part) const { return rank * p.splits + part / p.chunk_parts; }
  // How many are in the chunk of a part.
  FORCE_INLINE __device__ uint32_t parts_of_chunk(int32_t part) const {
    const uint32_t left = parts() - part / p.chunk_parts * p.chunk_parts;
    return left < p.chunk_parts ? left : p.chunk_parts;
  }
};

template <typename T, int kRows, int kColumns, int kPartRows>
using Scattered = Summed<T, kRows, kColumns, kPartRows, false>;
template <typename T, int kRows, int kColumns, int kPartRows>
using Everywhere = Summed<T, kRows, kColumns, kPartRows, true>;
