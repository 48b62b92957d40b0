// The epilogue of wgmma.cu: a consumer warpgroup stages the sums of its part of a tile in shared memory, and a store warp of
// the producer warpgroup stores them while the next tile is multiplied. Before that tile's sums are staged, the store
// warp has fetched the peers' products that are added to them.
#pragma once

#include "epilogue_transposed.cuh"
#include "fragments.cuh"
#include "shared_layout.cuh"

// The address of a lane's row of the first four 8 x 8 matrices of its warp's fragments.
template <int kColumns>
FORCE_INLINE __device__ uint32_t fragment_address(SharedLayout<kColumns> at, uint32_t part) {
  const uint32_t thread = reload_thread_id() % kWarpgroup, lane = thread % 32;
  return at.staged_row(part * kPartRows + thread / 32 * 16 + lane % 16) + lane / 16 * kVecBytes;
}

// Adds the peers' products, when they have been fetched into shared memory, to a warpgroup's sums, which are first rounded
// as the peers' were. Each warp reads the rows that it writes afterwards. It reads the last of those that have been fetched
// in place of the others, whose sums are not stored.
template <typename T, int kColumns, typename Exchange>
FORCE_INLINE __device__ void add_peer_products(const Exchange& exchange, SharedLayout<kColumns> at, uint32_t part, int32_t rows,
                                       uint32_t& parity, float (&sums)[kColumns / 2]) {
  const int32_t thread = reload_thread_id() % kWarpgroup, row = thread % 16, last = rows - 1 - thread / 32 * 16;
  const uint32_t from = fragment_address(at, part) - (row > last ? row - last : 0) * at.kPitch;
#pragma unroll
  for (int i = 0; i < kColumns / 2; i += 2) round_pair(T{}, sums[i], sums[i + 1]);
#pragma nounroll
  for (uint32_t i = 0; i < exchange.peer_count(); i++, parity ^= 1) {
    if (i > 0) {
      fence_async_proxy_shared(); // orders the reads before the next fetch to the same place
      mbarrier_arrive(at.added(part));
    }
    mbarrier_wait(at.fetched(part), parity);
    if (last < 0) continue; // none of the warp's rows
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
FORCE_INLINE __device__ void stage_sums(SharedLayout<kColumns> at, uint32_t part, const float (&sums)[kColumns / 2]) {
  const uint32_t corner = fragment_address(at, part);
#pragma unroll
  for (int c = 0; c < kColumns; c += 16) {
    const float* s = sums + c / 2;
    store_matrices(corner + c * kElementBytes, rounded_pair(T{}, s[0], s[1]), rounded_pair(T{}, s[2], s[3]),
                   rounded_pair(T{}, s[4], s[5]), rounded_pair(T{}, s[6], s[7]));
  }
}

// The parities of the next phases of the mbarriers that complete once a tile, and once a peer.
struct Parities {
  uint32_t tile = 0, peer = 0;
};

// Whether the warps that multiply a tile store it themselves, and not the store warps, as ordinary vectors. Nothing is left
// to multiply meanwhile, and bulk copies of rows take 2 us longer (kernels/NOTES.md).
template <typename Exchange>
FORCE_INLINE __device__ bool is_stored_by_consumers(const Exchange& exchange, const Tile& t) {
  return Exchange::kStoresLocally && !has_next(exchange, t);
}

// Stores the rows that this warp has staged to the outputs.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void store_own_rows(const Exchange& exchange, SharedLayout<kColumns> at, const Tile& t, uint32_t part) {
  constexpr int kVecs = kColumns / kPerVec, kRowsOfWarp = 16;
  static_assert(kRowsOfWarp * kVecs % 32 == 0);
  const int32_t thread = reload_thread_id() % kWarpgroup, first = part * kPartRows + thread / 32 * kRowsOfWarp;
#pragma unroll 4
  for (int i = 0; i < kRowsOfWarp * kVecs; i += 32) {
    const int32_t vec = i + thread % 32, row = first + vec / kVecs, column = vec % kVecs * kPerVec;
    if (row < t.rows && t.column + column < (int32_t)exchange.p.n)
      store_outputs(exchange, t, t.row + row, t.column + column, ld_shared(at.staged_row(row) + column * kElementBytes));
  }
}

// Stages a warpgroup's sums when the store warp has read those of the previous tile, for that warp or for its own.
template <typename T, int kColumns, typename Exchange>
FORCE_INLINE __device__ void stage_tile(const Exchange& exchange, SharedLayout<kColumns> at, const Tile& t, uint32_t part, Parities& parity,
                                       float (&sums)[kColumns / 2], ClusterEnd& end) {
  mbarrier_wait(at.stored(part), parity.tile ^ 1);
  if (exchange.adds_products(t) && rows_of(t, part) > 0)
    add_peer_products<T, kColumns>(exchange, at, part, rows_of(t, part), parity.peer, sums);
  if constexpr (Exchange::kTransposes)
    stage_transposes<T, kColumns>(at, part, sums);
  else
    stage_sums<T, kColumns>(at, part, sums);
  if (is_stored_by_consumers(exchange, t)) {
    warp_sync();
    end.arrive();
    if constexpr (Exchange::kTransposes)
      store_own_transpose<kColumns>(exchange, at, t, part);
    else
      store_own_rows<kColumns>(exchange, at, t, part);
    return;
  }
  fence_async_proxy_shared();
  mbarrier_arrive(at.staged(part));
  parity.tile ^= 1;
}

// Fetches the peers' products of a part, by one thread: the next peer's when the warpgroup has added those of the one
// before. False if they have not arrived; the warpgroup then adds any data.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ bool fetch_products(const Exchange& exchange, SharedLayout<kColumns> at, const Tile& t, uint32_t part, uint32_t& parity) {
  const int32_t number = number_of(t, part), bytes = rows_of(t, part) * at.kPitch;
  const bool have_arrived = exchange.wait_for_products(number);
  fence_async_proxy();
#pragma nounroll
  for (uint32_t i = 0; i < exchange.peer_count(); i++) {
    if (i > 0) mbarrier_wait(at.added(part), parity), parity ^= 1;
    mbarrier_expect(at.fetched(part), bytes);
    bulk_load(at.staged_row(part * kPartRows), exchange.products_address(number, i), bytes, at.fetched(part));
  }
  return have_arrived;
}

// Stores the staged rows of a part to the outputs, by a warp.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void store_rows(const MatmulParams& p, const Exchange& exchange, SharedLayout<kColumns> at, const Tile& t, uint32_t part) {
  const int32_t rows = rows_of(t, part), left = p.n - t.column, columns = left < kColumns ? left : kColumns;
  const bool whole = p.n % kPerVec == 0;
  for (int32_t r = lane_id(); r < rows; r += 32) {
    const int32_t row = part * kPartRows + r;
    if (!whole) {
      for (int32_t c = 0; c < columns; c += kPerVec)
        store_outputs(exchange, t, t.row + row, t.column + c, ld_shared(at.staged_row(row) + c * kElementBytes));
      continue;
    }
    for (uint32_t i = 0; i < exchange.output_count(t); i++)
      bulk_store(exchange.output_address(t, i) + ((int64_t)(t.row + row) * p.n + t.column) * kElementBytes, at.staged_row(row), columns * kElementBytes);
  }
}

// Stores a part to the rank that owns it, by a warp, if that rank has begun. While more tiles follow, stores across a link
// are made row by row: operands of the next tiles would wait behind one large copy until the links have taken it.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void send_part(Exchange& exchange, SharedLayout<kColumns> at, const Tile& t, uint32_t part) {
  const bool leads = lane_id() == 0;
  const int32_t rows = rows_of(t, part);
  if (rows <= 0 || !warp_all(!leads || exchange.wait_for_owner(t))) return;
  warp_sync(); // orders the first lane's acquire before the stores of all lanes
  fence_async_proxy();
  const uint64_t to = exchange.send_address(t, number_of(t, part));
  const uint32_t from = at.staged_row(part * kPartRows);
  if (exchange.crosses_link(t) && has_next(exchange, t)) {
    for (int32_t r = lane_id(); r < rows; r += 32) bulk_store(to + r * at.kPitch, from + r * at.kPitch, at.kPitch);
  } else if (leads) {
    bulk_store(to, from, rows * at.kPitch);
  }
}

// StoreStagger spreads the stores of the clusters to peers over half of the time that a tile takes. Clusters finish their
// tiles together; stores of all of them at once are more than the links take, and delay the operands of the next tiles
// (kernels/NOTES.md).
class StoreStagger {
 public:
  // Called when a tile is staged: measures how long the tile took.
  FORCE_INLINE __device__ void tile_staged() {
    const uint64_t now = global_timer(), took = now - ready_;
    took_ = took < kMost ? (uint32_t)took : kMost; // the timer may step back
    ready_ = now;
  }

  // Waits for the time slot of this warp's part.
  FORCE_INLINE __device__ void wait(uint32_t part) const {
    constexpr uint32_t kTurns = 16 * kParts;
    const uint32_t turn = (block_id() / kClusterBlocks * kParts + part) % kTurns;
    asm volatile("nanosleep.u32 %0;" ::"r"(took_ / 2 * turn / kTurns));
  }

 private:
  static constexpr uint32_t kMost = 250000; // ns; a tile that took longer has waited for something

  uint64_t ready_ = global_timer();
  uint32_t took_ = 0;
};

// The loop of a store warp: stores the parts that its warpgroup stages, and signals when they have been written.
template <int kColumns, typename Exchange>
FORCE_INLINE __device__ void run_store_warp(const MatmulParams& p, SharedLayout<kColumns> at, Exchange exchange, const Tile& first, uint32_t part) {
  Parities parity;
  StoreStagger stagger;
  const bool leads = lane_id() == 0;
  each_tile<true>(exchange, first, [&](const Tile& t) {
    if (t.piece >= 0 || is_stored_by_consumers(exchange, t)) return; // a piece's sums are added to the tile of another cluster
    bool is_complete = true;
    if (pair_has_rows(t)) {
      if (leads && exchange.adds_products(t) && rows_of(t, part) > 0) is_complete = fetch_products(exchange, at, t, part, parity.peer);
      mbarrier_wait(at.staged(part), parity.tile);
      parity.tile ^= 1;
      stagger.tile_staged();
      if (exchange.crosses_link(t) && has_next(exchange, t)) stagger.wait(part);
      if constexpr (Exchange::kTransposes) {
        if (leads) store_transpose<kColumns>(p, at, t, part);
      } else if (exchange.sends(t)) {
        send_part(exchange, at, t, part);
      } else if (!exchange.adds_products(t) || warp_all(is_complete)) {
        store_rows<kColumns>(p, exchange, at, t, part);
      }
      bulk_commit();
      bulk_wait_read<0>();
      warp_sync();
      if (leads) mbarrier_arrive(at.stored(part));
      bulk_wait_written();
      warp_sync();
    }
    if (!leads) return;
    if (exchange.sends(t))
      exchange.signal_sent(t, number_of(t, part), rows_of(t, part) > 0);
    else if (is_complete && rows_of(t, part) > 0)
      exchange.count_stored();
  });
}
