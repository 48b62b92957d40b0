// An exchange (exchange.cuh): A arrives from the peers while it is multiplied.
#pragma once

#include "exchange.cuh"

// Gathered multiplies the shards of all ranks in the order in which they arrive: this rank's at once, from where it lies,
// then those of the ranks after it, as soon as their words of progress say that a chunk has arrived.
//
// Who signals what: the stream of the copies signals the peers that this rank's shard is ready, and waits for their
// signals. The kernel signals that the peers' shards have been copied: a stream would do so after copies that were only
// released, too. Only the kernel bounds its waits; after a time-out it releases the copies that still wait. It ends after
// them: a late peer would otherwise overwrite the word that releases them with the epoch of an earlier call.
template <typename T, int kRows, int kColumns, int kPartRows>
struct Gathered : Local {
  using Order = TileOrder<kRows, kColumns>;
  const MatmulParams& p;
  static constexpr bool kGathers = true;
  uint32_t chunks_arrived = 0; // chunks that have been waited for, in the order of their arrival
  FORCE_INLINE __device__ explicit Gathered(const MatmulParams& p) : p(p) {}

  FORCE_INLINE __device__ bool failed_earlier() const { return failed_in_earlier_call(p); }
  FORCE_INLINE __device__ void signal_begun() const {}
  FORCE_INLINE __device__ Order order() const { return Order(p, p.base.world, p.base.rank); }
  FORCE_INLINE __device__ bool is_local(const Tile& t) const { return t.owner == p.base.rank; }

  FORCE_INLINE __device__ RowsState wait_for_rows(const Tile& t, int n) {
    if (is_local(t) || t.rows <= 0) return RowsState::kReady;
    const uint32_t last = (t.row + (t.rows < n ? t.rows : n) - 1) / (uint32_t)p.chunk_rows;
    const uint32_t world = p.base.world, shard = (t.owner + world - p.base.rank) % world;
    RowsState rows = RowsState::kReady;
    for (; chunks_arrived <= shard * p.splits + last; chunks_arrived++, rows = RowsState::kArrived)
      if (!wait_for_chunk(chunks_arrived)) return RowsState::kMissing;
    return rows;
  }

  FORCE_INLINE __device__ uint64_t output_address(const Tile& t, uint32_t) const { return shard_address(p, p.c, t); }

  // Waits first for the peers to begin, so that a missing peer is reported for that.
  FORCE_INLINE __device__ void wait_for_peers() const {
    each_peer(p, [&](uint32_t r) { wait_for_word(p, word_address(p.begun, r), p.epoch, kStartBarrier, r); });
    each_peer(p, [&](uint32_t r) {
      if (wait_for_word(p, last_word(r), p.epoch, kChunk, r)) signal_rank(p, p.copied, r);
    });
    each_peer(p, [&](uint32_t r) { wait_for_word(p, word_address(p.copied, r), p.epoch, kEndBarrier, r); });
    if (has_failed(p)) release_copies();
  }

  FORCE_INLINE __device__ void release_copies() const {
    Deadline deadline;
    each_peer(p, [&](uint32_t r) {
      do st_flag_release(word_address(p.begun, r), p.epoch);
      while (is_before(ld_flag_acquire(last_word(r)), p.epoch) && !deadline.has_passed(p.base));
    });
  }

 private:
  // The address of the word of progress of a rank's last chunk.
  FORCE_INLINE __device__ uint64_t last_word(uint32_t rank) const { return word_address(p.progress, (rank + 1) * p.splits - 1); }

  // Waits for a chunk by its number in the order of arrival. Those of this rank count, too, but are not copied.
  FORCE_INLINE __device__ bool wait_for_chunk(uint32_t i) const {
    const uint32_t owner = (p.base.rank + i / p.splits) % p.base.world;
    if (owner == p.base.rank) return true;
    const uint64_t word = p.progress + (owner * p.splits + i % p.splits) * sizeof(uint32_t);
    return wait_for_word(p, word, p.epoch, kChunk, owner);
  }
};
