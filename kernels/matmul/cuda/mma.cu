// A GEMM on tensor cores of any GPU from sm_80 on (mma.sync), by itself or overlapping with communication: see exchange.cuh.
//
// Algorithm, for each tile of the block:
//   1. all threads copy k-slices of the operands into a ring of stages, by cp.async, kStages - 1 ahead
//   2. mainloop: each warp multiplies a part of the tile, accumulating in registers
//   3. epilogue: the peers' products pass through shared memory and are added, if the exchange says so
//   4. store: the sums are rounded into shared memory, and whole rows of them are stored to the outputs of the exchange
// A thread of the last block, which has the fewest tiles, then waits until the peers need nothing more. In a call after one
// whose wait has expired, none of this is done: see exchange.cuh.
//
// Buffers: A and C lie by rows, B by columns, all aligned to 16 bytes.
//
// Memory order: barriers of the block order copies and products; the exchange orders what passes between ranks.
//
// The caller gives a grid of blocks that are all resident, of kThreads threads, and kStages * kStageBytes of shared memory.
// Any m and n, k a multiple of 8. sm_80 and up, up to kMaxRanks ranks.

#include "../../device/entries.cuh"
#include "fragments.cuh"
#include "gathered.cuh"
#include "reduced.cuh"
#include "trace.cuh"

constexpr int kRows = 128, kColumns = 128, kSlice = 32, kStages = 4;
constexpr int kWarpRows = 64, kWarpColumns = 32; // that a warp multiplies
constexpr int kThreads = kRows / kWarpRows * (kColumns / kWarpColumns) * 32;
constexpr int kUnits = kSlice / kPerVec; // units of 16 bytes of a row in a stage
constexpr int kStageBytes = (kRows + kColumns) * kSlice * kElementBytes;
constexpr uint32_t kPitch = kStagedPitch<kColumns>;
static_assert(kRows * kPitch <= kStages * kStageBytes, "a staged tile takes the place of the stages");

// The offset of a unit of a row in a stage: swizzled, so that the eight rows that ldmatrix reads at a time use all banks.
FORCE_INLINE __device__ uint32_t swizzled_offset(uint32_t row, uint32_t unit) {
  return (row * kUnits + (unit ^ row / 2 % kUnits)) * kVecBytes;
}

// Copies 16 bytes to shared memory, or writes zeros.
FORCE_INLINE __device__ void copy_unit(uint32_t to, uint64_t from, bool is_inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_inside ? kVecBytes : 0)
               : "memory");
}
FORCE_INLINE __device__ void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most kGroups of the thread's committed groups are pending.
template <int kGroups>
FORCE_INLINE __device__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
}

// The operands of a tile: rows of A from an address on, and columns of B.
struct Operands {
  uint64_t a, b;
  int64_t rows, columns; // that exist
};

// Copies slice s of kCount rows of k elements, of which the first `rows` exist.
template <int kCount>
FORCE_INLINE __device__ void copy_rows(const MatmulParams& p, uint32_t to, uint64_t from, int64_t rows, int64_t s) {
#pragma unroll
  for (uint32_t i = thread_id(); i < kCount * kUnits; i += kThreads) {
    const uint32_t row = i / kUnits, unit = i % kUnits;
    const int64_t k = s * kSlice + unit * kPerVec;
    const bool is_inside = row < rows && k < p.k;
    copy_unit(to + swizzled_offset(row, unit), from + (is_inside ? (row * p.k + k) * kElementBytes : 0), is_inside);
  }
}

FORCE_INLINE __device__ void copy_slice(const MatmulParams& p, const Operands& o, uint32_t stage, int64_t s) {
  copy_rows<kRows>(p, stage, o.a, o.rows, s);
  copy_rows<kColumns>(p, stage + kRows * kSlice * kElementBytes, o.b, o.columns, s);
}

#define MULTIPLY(Type, type)                                                                                             \
  FORCE_INLINE __device__ void multiply(Type, float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {        \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%0, %1, %2, %3};"                                                                                              \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                                 \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                                 \
  }
MULTIPLY(BFloat16, "bf16")
MULTIPLY(Half, "f16")

// A warp's part of a tile.
constexpr int kDown = kWarpRows / 16, kAcross = kWarpColumns / 8;
struct Part {
  uint32_t row, column;
  float sums[kDown][kAcross][4];
};

template <typename T>
FORCE_INLINE __device__ void multiply_slice(Part& part, uint32_t stage) {
  const uint32_t lane = thread_id() % 32;
#pragma unroll
  for (int k = 0; k < kSlice / 16; k++) {
    uint32_t a[kDown][4], b[kAcross / 2][4];
#pragma unroll
    for (int y = 0; y < kDown; y++)
      load_matrices(a[y], stage + swizzled_offset(part.row + y * 16 + lane % 16, 2 * k + lane / 16));
#pragma unroll
    for (int x = 0; x < kAcross / 2; x++)
      load_matrices(b[x], stage + kRows * kSlice * kElementBytes +
                              swizzled_offset(part.column + x * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
#pragma unroll
    for (int y = 0; y < kDown; y++)
#pragma unroll
      for (int x = 0; x < kAcross; x++) multiply(T{}, part.sums[y][x], a[y], b[x / 2][x % 2 * 2], b[x / 2][x % 2 * 2 + 1]);
  }
}

template <typename T>
FORCE_INLINE __device__ void multiply_slices(const MatmulParams& p, const Operands& o, uint32_t stages, Part& part) {
  const int64_t slices = (p.k + kSlice - 1) / kSlice;
  const auto begin = [&](int64_t s) {
    if (s < slices) copy_slice(p, o, stages + s % kStages * kStageBytes, s);
    copies_commit();
  };
  for (int64_t s = 0; s < kStages - 1; s++) begin(s);
  for (int64_t s = 0; s < slices; s++) {
    copies_wait<kStages - 2>();
    block_all(true); // slice s has arrived, and all threads have read the stage that is filled next
    begin(s + kStages - 1);
    multiply_slice<T>(part, stages + s % kStages * kStageBytes);
  }
  copies_wait<0>();
  block_all(true);
}

// Calls f(address, first, second) for every pair of a thread's sums, with its address in the staged tile.
template <typename F>
FORCE_INLINE __device__ void each_pair(Part& part, uint32_t out, F f) {
  const uint32_t lane = thread_id() % 32;
#pragma unroll
  for (int y = 0; y < kDown; y++)
#pragma unroll
    for (int x = 0; x < kAcross; x++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const uint32_t row = part.row + y * 16 + h * 8 + lane / 4, column = part.column + x * 8 + lane % 4 * 2;
        f(out + row * kPitch + column * kElementBytes, part.sums[y][x][2 * h], part.sums[y][x][2 * h + 1]);
      }
}

// Adds the peers' products to the block's sums, which are first rounded as the peers' were. Rows beyond the shard arrive as
// zeros. False, in all threads, if the products have not arrived.
template <typename T, typename Exchange>
FORCE_INLINE __device__ bool add_peer_products(const Exchange& exchange, const Tile& t, uint32_t out, Part& part) {
  const bool have_arrived = thread_id() != 0 || exchange.wait_for_products(t.index);
  each_pair(part, out, [](uint32_t, float& first, float& second) { round_pair(T{}, first, second); });
  if (!block_all(have_arrived)) return false;
  const uint32_t bytes = (t.rows < kRows ? t.rows : kRows) * kPitch;
#pragma nounroll
  for (uint32_t i = 0; i < exchange.peer_count(); i++) {
    const uint64_t from = exchange.products_address(t.index, i);
    for (uint32_t at = thread_id() * kVecBytes; at < kRows * kPitch; at += kThreads * kVecBytes) copy_unit(out + at, from + at, at < bytes);
    copies_commit();
    copies_wait<0>();
    block_all(true);
    each_pair(part, out, [](uint32_t at, float& first, float& second) { add_pair(T{}, first, second, ld_shared_word(at)); });
    block_all(true);
  }
  return true;
}

// Rounds the block's sums into shared memory.
template <typename T>
FORCE_INLINE __device__ void stage_sums(uint32_t out, Part& part) {
  each_pair(part, out, [](uint32_t at, float& first, float& second) { st_shared_word(at, rounded_pair(T{}, first, second)); });
  block_all(true);
}

// Stores the rows of a staged tile to the outputs, 16 bytes by a thread at a time.
template <typename Exchange>
FORCE_INLINE __device__ void store_rows(const MatmulParams& p, const Exchange& exchange, const Tile& t, uint32_t out) {
  constexpr uint32_t kThreadsPerRow = kColumns / kPerVec;
  const uint32_t unit = thread_id() % kThreadsPerRow;
  const int32_t column = t.column + unit * kPerVec;
  for (int32_t row = thread_id() / kThreadsPerRow; row < kRows && row < t.rows && column < p.n; row += kThreads / kThreadsPerRow)
    store_outputs(exchange, t, t.row + row, column, ld_shared(out + row * kPitch + unit * kVecBytes));
}

// Stores a tile to the rank that owns it, if that rank has begun.
template <typename Exchange>
FORCE_INLINE __device__ void send_tile(Exchange& exchange, const Tile& t, uint32_t out) {
  if (!block_all(thread_id() != 0 || exchange.wait_for_owner(t))) return;
  const uint64_t to = exchange.send_address(t, t.index);
  const uint32_t bytes = (t.rows < kRows ? t.rows : kRows) * kPitch;
  for (uint32_t at = thread_id() * kVecBytes; at < bytes; at += kThreads * kVecBytes) st(to + at, ld_shared(out + at));
}

// Stores the block's sums as the exchange says, and signals it. The stages are free again when it returns.
template <typename T, typename Exchange>
FORCE_INLINE __device__ void store_tile(const MatmulParams& p, Exchange& exchange, const Tile& t, uint32_t out, Part& part) {
  if (exchange.adds_products(t) && !add_peer_products<T>(exchange, t, out, part)) return;
  stage_sums<T>(out, part);
  if (exchange.sends(t))
    send_tile(exchange, t, out);
  else
    store_rows(p, exchange, t, out);
  block_all(true);
  if (thread_id() != 0) return;
  if (exchange.sends(t))
    exchange.signal_sent(t, t.index, true);
  else
    exchange.count_stored();
}

template <typename T, typename Exchange>
FORCE_INLINE __device__ void multiply_tiles(const MatmulParams& p) {
  Exchange exchange{p};
  const bool is_last = block_id() == grid_blocks() - 1 && thread_id() == 0;
  if (exchange.failed_earlier()) {
    if (is_last) exchange.release_copies();
    return;
  }
  if (block_id() == 0) exchange.signal_begun();
  const uint32_t shared = shared_memory(), warp = thread_id() / 32;
  const auto order = exchange.order();
  for (int32_t i = block_id(); i < order.count(); i += grid_blocks()) {
    const Tile t = order.at(i);
    if (t.rows <= 0) {
      if (exchange.sends(t) && thread_id() == 0) exchange.signal_sent(t, t.index, false);
      continue;
    }
    TileTimer timer(p, thread_id() == 0);
    if (!block_all(thread_id() != 0 || exchange.wait_for_rows(t, kRows) != RowsState::kMissing)) continue;
    timer.begin();
    const bool in_shard = Exchange::kGathers && exchange.is_local(t); // A is this rank's shard
    const uint64_t a = Exchange::kGathers && !in_shard ? p.a_full : p.a;
    const int32_t row = t.row + (in_shard ? 0 : t.shard_row);
    const Operands o = {a + (int64_t)row * p.k * kElementBytes, p.b + (int64_t)t.column * p.k * kElementBytes, t.rows, p.n - t.column};
    Part part = {warp % (kRows / kWarpRows) * kWarpRows, warp / (kRows / kWarpRows) * kWarpColumns, {}};
    multiply_slices<T>(p, o, shared, part);
    store_tile<T>(p, exchange, t, shared, part);
    timer.end(t);
  }
  if (is_last) exchange.wait_for_peers();
}

extern "C" __global__ void __launch_bounds__(kThreads) mma(const MatmulParams p) {
  multiply_tiles<ELEMENT, EXCHANGE<ELEMENT, kRows, kColumns, kRows>>(p);
}
