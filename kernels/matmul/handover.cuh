// How sums leave a block of wgmma.cu: a warpgroup hands those of its part of a tile to a warp, in shared
// memory, which stores them while the next tile is multiplied, and fetches what is to be added to that.
#pragma once

#include "clusters.cuh"
#include "fragments.cuh"

// Where a lane's row of the first four matrices of its warp's fragments lies.
template <int kColumns>
FORCE_INLINE __device__ uint32_t fragments_at(Layout<kColumns> at, uint32_t part) {
  const uint32_t thread = thread_id_late() % kWarpgroup, lane = thread % 32;
  return at.out(part * kPartRows + thread / 32 * 16 + lane % 16) + lane / 16 * kVecBytes;
}

// Adds the peers' products to a warpgroup's, which are rounded as theirs are, when they have been
// fetched into shared memory: each warp those rows that it writes afterwards.
template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void add_peers(const Job& job, Layout<kColumns> at, uint32_t part, uint32_t& parity,
                                       float (&sums)[kColumns / 2]) {
  const uint32_t from = fragments_at(at, part);
#pragma unroll
  for (int i = 0; i < kColumns / 2; i += 2) round_pair(T{}, sums[i], sums[i + 1]);
#pragma nounroll
  for (uint32_t i = 0; i < job.peers(); i++, parity ^= 1) {
    if (i > 0) {
      fence_async_proxy_shared(); // what has been read, before the next is fetched to the same place
      mbarrier_arrive(at.added(part));
    }
    mbarrier_wait(at.fetched(part), parity);
#pragma unroll
    for (int c = 0; c < kColumns; c += 16) {
      uint32_t pairs[4];
      load_matrices(pairs, from + c * kElementBytes);
#pragma unroll
      for (int k = 0; k < 4; k++) add_pair(T{}, sums[c / 2 + 2 * k], sums[c / 2 + 2 * k + 1], pairs[k]);
    }
  }
}

// Rounds a warpgroup's sums into shared memory.
template <typename T, int kColumns>
FORCE_INLINE __device__ void round_sums(Layout<kColumns> at, uint32_t part, const float (&sums)[kColumns / 2]) {
  const uint32_t corner = fragments_at(at, part);
#pragma unroll
  for (int c = 0; c < kColumns; c += 16) {
    const float* s = sums + c / 2;
    store_matrices(corner + c * kElementBytes, rounded_pair(T{}, s[0], s[1]), rounded_pair(T{}, s[2], s[3]),
                   rounded_pair(T{}, s[4], s[5]), rounded_pair(T{}, s[6], s[7]));
  }
}

// The parities of the phases that come next, of what passes once a tile, and once a peer.
struct Parities {
  uint32_t tile = 0, peer = 0;
};

// Hands a warpgroup's sums to the warp that stores them, when it has stored those of the
// tile before.
template <typename T, int kColumns, typename Job>
FORCE_INLINE __device__ void hand_over(const Job& job, Layout<kColumns> at, const Tile& t, uint32_t part, Parities& parity,
                                       float (&sums)[kColumns / 2]) {
  mbarrier_wait(at.stored(part), parity.tile ^ 1);
  if (job.adds(t) && rows_of(t, part) > 0) add_peers<T, kColumns>(job, at, part, parity.peer, sums);
  round_sums<T, kColumns>(at, part, sums);
  fence_async_proxy_shared();
  mbarrier_arrive(at.ready(part));
  parity.tile ^= 1;
}

// One thread's copies of what the peers have of a part, the next one's when the
// warpgroup has added that of the one before. False if that has not come: it adds what is there.
template <int kColumns, typename Job>
FORCE_INLINE __device__ bool fetch_products(const Job& job, Layout<kColumns> at, const Tile& t, uint32_t part, uint32_t& parity) {
  const int32_t number = number_of(t, part), bytes = rows_of(t, part) * at.kPitch;
  const bool have_come = job.await_products(number);
  fence_async_proxy();
#pragma nounroll
  for (uint32_t i = 0; i < job.peers(); i++) {
    if (i > 0) mbarrier_wait(at.added(part), parity), parity ^= 1;
    mbarrier_expect(at.fetched(part), bytes);
    bulk_load(at.out(part * kPartRows), job.products(number, i), bytes, at.fetched(part));
  }
  return have_come;
}

// A warp's stores of the rows of a part that lie in shared memory.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void store_rows(const MatmulParams& p, const Job& job, Layout<kColumns> at, const Tile& t, uint32_t part) {
  const int32_t rows = rows_of(t, part), left = p.n - t.column, columns = left < kColumns ? left : kColumns;
  const bool whole = p.n % kPerVec == 0;
  for (int32_t r = lane_id(); r < rows; r += 32) {
    const int32_t row = part * kPartRows + r;
    if (!whole) {
      for (int32_t c = 0; c < columns; c += kPerVec)
        put(job, t, t.row + row, t.column + c, ld_shared(at.out(row) + c * kElementBytes));
      continue;
    }
    for (uint32_t i = 0; i < job.targets(t); i++)
      bulk_store(job.target(t, i) + ((int64_t)(t.row + row) * p.n + t.column) * kElementBytes, at.out(row), columns * kElementBytes);
  }
}

// A warp's stores of a part that another rank owns, if that has begun: across a link by rows while more tiles follow, because
// their operands wait behind a copy until the links have taken it.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void send_part(Job& job, Layout<kColumns> at, const Tile& t, uint32_t part) {
  const bool leads = lane_id() == 0;
  const int32_t rows = rows_of(t, part);
  if (rows <= 0 || !warp_all(!leads || job.await_owner(t))) return;
  warp_meet(); // what the first lane has waited for is before what all store
  fence_async_proxy();
  const uint64_t to = job.owners(t, number_of(t, part));
  const uint32_t from = at.out(part * kPartRows);
  if (job.crosses(t) && has_next(job, t)) {
    for (int32_t r = lane_id(); r < rows; r += 32) bulk_store(to + r * at.kPitch, from + r * at.kPitch, at.kPitch);
  } else if (leads) {
    bulk_store(to, from, rows * at.kPitch);
  }
}

// Spread has the clusters take turns to store with peers, in part of the time that a tile takes. They finish their tiles
// together, and what all of them store at once is more than the links take: it then keeps operands from
// multiprocessors until the links have taken it (kernels/NOTES.md).
class Spread {
 public:
  // When a tile is ready to be stored.
  FORCE_INLINE __device__ void tile_is_ready() {
    const uint64_t now = global_timer(), took = now - ready_;
    took_ = took < kMost ? (uint32_t)took : kMost; // the timer may step back
    ready_ = now;
  }

  // Waits for the turn of this warp's part.
  FORCE_INLINE __device__ void await_turn(uint32_t part) const {
    constexpr uint32_t kTurns = 16 * kParts;
    const uint32_t turn = (block_id() / kBlocks * kParts + part) % kTurns;
    asm volatile("nanosleep.u32 %0;" ::"r"(took_ / 2 * turn / kTurns));
  }

 private:
  static constexpr uint32_t kMost = 250000; // ns: what takes longer has waited for something

  uint64_t ready_ = global_timer();
  uint32_t took_ = 0;
};

// A warp stores what a warpgroup hands over, and tells the job when it has arrived.
template <int kColumns, typename Job>
FORCE_INLINE __device__ void store_tiles(const MatmulParams& p, Layout<kColumns> at, Job job, uint32_t part) {
  Parities parity;
  Spread spread;
  const bool leads = lane_id() == 0;
  each_tile<true>(job, [&](const Tile& t) {
    if (t.piece >= 0) return; // others store it
    bool is_right = true;
    if (pair_has_rows(t)) {
      if (leads && job.adds(t) && rows_of(t, part) > 0) is_right = fetch_products(job, at, t, part, parity.peer);
      mbarrier_wait(at.ready(part), parity.tile);
      parity.tile ^= 1;
      spread.tile_is_ready();
      if (job.crosses(t) && has_next(job, t)) spread.await_turn(part);
      if (job.sends(t)) {
        send_part(job, at, t, part);
      } else if (!job.adds(t) || warp_all(is_right)) {
        store_rows<kColumns>(p, job, at, t, part);
      }
      bulk_commit();
      bulk_wait_read<0>();
      warp_meet();
      if (leads) mbarrier_arrive(at.stored(part));
      bulk_wait_written();
      warp_meet();
    }
    if (!leads) return;
    if (job.sends(t))
      job.sent(t, number_of(t, part), rows_of(t, part) > 0);
    else if (is_right && rows_of(t, part) > 0)
      job.kept();
  });
}
