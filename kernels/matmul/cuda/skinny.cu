// A GEMM on tensor cores of compute capability 9.0 (wgmma) for an A of up to 192 rows: a local product.
//
// Such a product is as fast as B arrives. So a tile has few columns of B, and k is divided as well, until all multiprocessors
// have work. wgmma multiplies 64 rows by up to 256 columns, and reads both from shared memory. Rows and columns change places:
// the kernel multiplies 64 columns of B, as rows, by the kRows rows of A, as columns: C^T = B^T x A^T. With -DTALL=1, for more
// rows and many columns of B, it multiplies 64 rows of A by up to 128 columns of B, by each of two or three warpgroups. Tiles may
// have fewer columns, so that all multiprocessors have as many.
//
// Algorithm, for a cluster. Blocks with the same part of k share A; there are as many parts of k as cluster_splits. Blocks
// with the same columns of C divide k: split-K in a cluster, whose sums meet in shared memory. Warp specialization: a
// consumer warpgroup, or with -DTALL=1 one for each 64 rows of A; a producer warp.
//   1. producer: a thread of each block loads slices of k into the stages of a pipeline, by TMA: the block's columns of B,
//      and its share of the rows of A, which is multicast to the blocks that share A
//   2. mainloop: the consumers multiply the slices as they arrive, accumulating in registers
//   3. reduction: groups of the accumulators, 16 columns of the multiplication, belong to the parts of k in turn. Each
//      consumer sends its sums of the other parts' groups to their inboxes in shared memory, asynchronously (st.async), and
//      adds what it is sent to its own
//   4. epilogue: the sums are rounded into shared memory, by rows of C, and stored as vectors
//
// Buffers: A and C lie by rows, B by columns, whose number is a multiple of 8; tensor maps of A and B, with boxes of kSlice
// elements of k by the rows of A, or a share of kRows where blocks share A, or by tile_columns columns of B, swizzled by 128
// bytes. Elements of a box beyond the matrices arrive as zeros.
//
// Memory order: mbarriers order copies and products, and the sums that are sent before they are added. A barrier of the
// consumers orders the last products before the rows that are staged where the operands were. No block ends while another
// still arrives at its mbarriers.
//
// The caller gives clusters of up to 8 blocks, of kThreads threads, and shared memory for the stages and their mbarriers, and for
// the inbox. There are at least two stages, with room for the staged rows. All rows of A are in one tile. sm_90a. A module has
// tiles of -DROWS rows, and -DTALL=1 or 0.

#include "../../device/entries.cuh"
#include "../../device/shared.cuh"
#include "exchange.cuh"
#include "fragments.cuh"
#include "multiply.cuh"
#include "pipeline.cuh"
#include "tails.cuh"
#include "trace.cuh"

constexpr int kRows = ROWS, kSlice = 64, kRowBytes = kSlice * kElementBytes, kWgmmaRows = 64;
constexpr bool kTransposed = !TALL; // the rows of the multiplication are columns of B
constexpr int kTileColumns = kTransposed ? kWgmmaRows : 128; // at most
constexpr int kConsumers = kTransposed ? 1 : kRows / kWgmmaRows; // warpgroups
constexpr int kWidth = kTransposed ? kRows : kTileColumns;       // columns of the multiplication
constexpr int kSums = kWidth / 2;                                // of a thread
constexpr uint32_t kConsumerThreads = kConsumers * kWarpgroup, kThreads = kConsumerThreads + kWarp;
constexpr int kBlocks = kConsumers <= 2 ? 2 : 1; // that may share a multiprocessor
constexpr uint32_t kBytesOfA = kRows * kRowBytes; // of a stage
constexpr uint32_t kGroupColumns = 16, kGroupBytes = kGroupColumns * kWgmmaRows * sizeof(float); // columns of the multiplication, whose sums are sent
// A staged group is 16 rows of 64 columns of C, or 64 rows of 16; its rows are so many bytes apart.
constexpr uint32_t kStagedRows = kTransposed ? kGroupColumns : kWgmmaRows, kStagedVecs = (kTransposed ? kWgmmaRows : kGroupColumns) / kPerVec;
constexpr uint32_t kPitch = kTransposed ? (kStagedVecs + 1) * kVecBytes : 3 * kVecBytes, kStagedBytes = kStagedRows * kPitch;

// A stage has the columns of B, and behind them the rows of A. Transposed, there is room for 64 columns of B. Else there is room
// for those of the tile: a multiplication of more columns takes rows of A for the others, and nobody stores what it makes of them.
//
// Behind the mbarriers is another one for sums of other parts of k, and the inbox that they arrive in.
struct Pipeline : OperandPipeline<0, uint32_t> {
  uint32_t bytes_of_b;

  FORCE_INLINE __device__ explicit Pipeline(const MatmulParams& p) {
    bytes_of_b = (kTransposed ? kTileColumns : p.tile_columns) * kRowBytes;
    count = p.stages;
    stages = shared_memory();
    barriers = stages + count * (bytes_of_b + kBytesOfA);
  }

  FORCE_INLINE __device__ uint32_t sums_arrived() const { return barriers + count * kBarrierBytes; }
  FORCE_INLINE __device__ uint32_t inbox() const { return sums_arrived() + kVecBytes; }
  FORCE_INLINE __device__ uint32_t b(uint32_t stage) const { return stages + stage * (bytes_of_b + kBytesOfA); }
  FORCE_INLINE __device__ uint32_t a(uint32_t stage, uint32_t row) const { return b(stage) + bytes_of_b + row * kRowBytes; }
};

// The number of blocks in the cluster.
FORCE_INLINE __device__ uint32_t cluster_blocks() {
  uint32_t blocks;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}

// The address in another block of the cluster of what lies at `address` in this one.
FORCE_INLINE __device__ uint32_t in_block(uint32_t address, uint32_t block) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}

// Stores four numbers to another block's shared memory. An mbarrier of that block counts their bytes when they are there.
FORCE_INLINE __device__ void st_async(uint32_t address, const float* v, uint32_t barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address), "f"(v[0]),
               "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(barrier)
               : "memory");
}

FORCE_INLINE __device__ void add_shared(float* v, uint32_t address) {
  struct Floats {
    float at[4];
  };
  const auto loaded = __builtin_bit_cast(Floats, ld_shared(address));
#pragma unroll
  for (int i = 0; i < 4; i++) v[i] += loaded.at[i];
}

// A barrier of the consumers.
FORCE_INLINE __device__ void consumer_sync() { asm volatile("bar.sync 1, %0;" ::"n"(kConsumerThreads) : "memory"); }

// What a block multiplies, and which blocks of its cluster it works with.
struct Work {
  uint32_t splits, sharers; // parts of k, and blocks with the same part
  uint32_t part, share;     // this block's
  int32_t column;           // the first one of the tile
  uint32_t rows;            // of A that each block copies
  int32_t k_begin, k_end;   // slices

  FORCE_INLINE __device__ explicit Work(const MatmulParams& p) : splits(p.cluster_splits), sharers(cluster_blocks() / p.cluster_splits) {
    const uint32_t rank = cluster_rank(), cluster = block_id() / cluster_blocks();
    part = rank / sharers;
    share = rank % sharers;
    column = (cluster * sharers + share) * p.tile_columns;
    rows = sharers == 1 ? p.m : kRows / sharers;
    const uint32_t slices = (p.k + kSlice - 1) / kSlice;
    k_begin = slices * part / splits;
    k_end = slices * (part + 1) / splits;
  }

  // The rank in the cluster of the block with a part of k and this block's columns, or with a share of A and this block's
  // part of k.
  FORCE_INLINE __device__ uint32_t with_part(uint32_t other) const { return other * sharers + share; }
  FORCE_INLINE __device__ uint32_t with_share(uint32_t other) const { return part * sharers + other; }

  // The groups that the multiplication of a consumer has.
  static FORCE_INLINE __device__ uint32_t groups(const MatmulParams& p) {
    return ((kTransposed ? p.m : p.tile_columns) + kGroupColumns - 1) / kGroupColumns;
  }

  // The groups of all consumers that this block's part owns, and those that a part owns at most.
  FORCE_INLINE __device__ uint32_t own_groups(const MatmulParams& p) const { return (kConsumers * groups(p) + splits - 1 - part) / splits; }
  FORCE_INLINE __device__ uint32_t most_groups(const MatmulParams& p) const { return (kConsumers * groups(p) + splits - 1) / splits; }

  // Calls f(first, owner, slot) for the groups of this consumer: the group begins at sums[first], and is the owner's group
  // number `slot`.
  template <typename F>
  FORCE_INLINE __device__ void each_group(const MatmulParams& p, uint32_t consumer, F f) const {
    const uint32_t count = groups(p);
    uint32_t owner = consumer * count % splits, slot = consumer * count / splits;
#pragma unroll
    for (uint32_t g = 0; g < kWidth / kGroupColumns; g++) {
      if (g < count) f(g * kGroupColumns / 2, owner, slot);
      if (++owner == splits) owner = 0, slot++;
    }
  }
};

// Makes zeros of what no copy writes, in all stages, by the consumers.
FORCE_INLINE __device__ void clear_tails(const MatmulParams& p, const Work& work, Pipeline pipeline) {
  const uint32_t b = p.tile_columns * kRowBytes, a = work.rows * work.sharers * kRowBytes; // bytes that are copied
  if (b == pipeline.bytes_of_b && a == kBytesOfA) return;
#pragma nounroll
  for (uint32_t s = 0; s < p.stages; s++) {
    clear_shared(pipeline.b(s) + b, pipeline.b(s) + pipeline.bytes_of_b, thread_id(), kConsumerThreads);
    clear_shared(pipeline.a(s, 0) + a, pipeline.a(s, kRows), thread_id(), kConsumerThreads);
  }
  fence_async_proxy_shared(); // orders the zeros before the products of all consumers, behind the barrier
  consumer_sync();
}

// The producer: one thread loads all operands.
FORCE_INLINE __device__ void run_producer(const MatmulParams& p, const Work& work, Pipeline pipeline) {
  const uint32_t first = work.share * work.rows; // of the rows of A that this block copies
  const uint16_t sharers = ((1 << work.sharers) - 1) << work.with_share(0);
  const uint32_t bytes = (p.tile_columns + work.rows * work.sharers) * kRowBytes; // of a stage
  Pipeline::State state;
  for (int32_t s = work.k_begin; s < work.k_end; s++, state.advance(p.stages)) {
    pipeline.producer_acquire(state, bytes);
    const uint32_t a = pipeline.a(state.stage, first), full = pipeline.full(state.stage);
    tma_load(pipeline.b(state.stage), p.map_b, s * kSlice, work.column, full);
    if (work.sharers > 1)
      tma_load_multicast(sharers, a, p.map_a, s * kSlice, first, full);
    else
      tma_load(a, p.map_a, s * kSlice, 0, full);
  }
}

// The mainloop of a consumer warpgroup, of multiplications of so many columns.
template <int kColumns, typename T>
FORCE_INLINE __device__ void multiply_slices(const MatmulParams& p, const Work& work, Pipeline pipeline, uint32_t consumer,
                                             float (&sums)[kSums], TileTimer& timer) {
  auto& d = reinterpret_cast<float(&)[kColumns / 2]>(sums);
  const uint32_t thread = thread_id() % kWarpgroup;
  Pipeline::State state;
  for (int32_t s = work.k_begin; s < work.k_end; s++) {
    pipeline.consumer_wait(state);
    if (s == work.k_begin) timer.begin();
    const uint64_t a = tile_descriptor(pipeline.a(state.stage, consumer * kWgmmaRows)), b = tile_descriptor(pipeline.b(state.stage));
    const uint64_t left = kTransposed ? b : a, right = kTransposed ? a : b;
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kSlice / 16; k++) multiply(T{}, d, left + k * kNextK, right + k * kNextK, s > work.k_begin || k > 0);
    wgmma_commit();
    const uint32_t before = (state.stage == 0 ? p.stages : state.stage) - 1;
    wgmma_wait<1>();
    if (s > work.k_begin && thread < work.sharers) mbarrier_arrive_remote(pipeline.empty(before), work.with_share(thread));
    state.advance(p.stages);
  }
  wgmma_wait<0>();
  fence_accumulators(d);
}

// The mainloop of a tile of as many columns as this one.
template <typename T>
FORCE_INLINE __device__ void multiply_columns(const MatmulParams& p, const Work& work, Pipeline pipeline, uint32_t consumer,
                                              float (&sums)[kSums], TileTimer& timer) {
  if constexpr (kTransposed) {
    multiply_slices<kWidth, T>(p, work, pipeline, consumer, sums, timer);
  } else {
    if (p.tile_columns <= 64) return multiply_slices<64, T>(p, work, pipeline, consumer, sums, timer);
    if (p.tile_columns <= 80) return multiply_slices<80, T>(p, work, pipeline, consumer, sums, timer);
    if (p.tile_columns <= 96) return multiply_slices<96, T>(p, work, pipeline, consumer, sums, timer);
    if (p.tile_columns <= 112) return multiply_slices<112, T>(p, work, pipeline, consumer, sums, timer);
    multiply_slices<128, T>(p, work, pipeline, consumer, sums, timer);
  }
}

// Sends a consumer's sums of the groups of other parts to their blocks.
FORCE_INLINE __device__ void send_sums(const MatmulParams& p, const Work& work, Pipeline pipeline, uint32_t consumer, const float (&sums)[kSums]) {
  const uint32_t vec = pipeline.inbox() + thread_id() % kWarpgroup * kVecBytes, slots = work.most_groups(p);
  work.each_group(p, consumer, [&](uint32_t first, uint32_t owner, uint32_t slot) {
    if (owner == work.part) return;
    const uint32_t source = work.part < owner ? work.part : work.part - 1, block = work.with_part(owner); // the source among the owner's
    const uint32_t to = in_block(vec + (source * slots + slot) * kGroupBytes, block), arrived = in_block(pipeline.sums_arrived(), block);
    st_async(to, sums + first, arrived);
    st_async(to + kGroupBytes / 2, sums + first + 4, arrived);
  });
}

// Adds what the other parts have sent to a consumer's sums of the groups of this block, and rounds them into staged rows of C.
template <typename T>
FORCE_INLINE __device__ void stage_sums(const MatmulParams& p, const Work& work, Pipeline pipeline, uint32_t staged, uint32_t consumer,
                                        float (&sums)[kSums]) {
  const uint32_t base = pipeline.inbox(), slots = work.most_groups(p);
  if (work.splits > 1 && work.own_groups(p) > 0) mbarrier_wait_cluster(pipeline.sums_arrived(), 0);
  const uint32_t thread = thread_id() % kWarpgroup, lane = thread % kWarp;
  const uint32_t along = thread / kWarp * 16, across = lane / 16 * 8, within = lane % 8, next = lane / 8 % 2 * 8; // of the lane's 8 x 8 matrix
  const uint32_t row = kTransposed ? across + within : along + next + within, column = kTransposed ? along + next : across;
  const uint32_t corner = staged + row * kPitch + column * kElementBytes;
  work.each_group(p, consumer, [&](uint32_t first, uint32_t owner, uint32_t slot) {
    if (owner != work.part) return;
    float* v = sums + first;
    for (uint32_t source = 0; source + 1 < work.splits; source++) {
      const uint32_t from = base + (source * slots + slot) * kGroupBytes + thread * kVecBytes;
      add_shared(v, from);
      add_shared(v + 4, from + kGroupBytes / 2);
    }
    const uint32_t to = corner + slot * kStagedBytes;
    const uint32_t pairs[] = {rounded_pair(T{}, v[0], v[1]), rounded_pair(T{}, v[2], v[3]), rounded_pair(T{}, v[4], v[5]),
                              rounded_pair(T{}, v[6], v[7])};
    if constexpr (kTransposed)
      store_transposes(to, pairs[0], pairs[1], pairs[2], pairs[3]);
    else
      store_matrices(to, pairs[0], pairs[1], pairs[2], pairs[3]);
  });
}

// Stores the staged rows of this block's groups, by all consumers.
FORCE_INLINE __device__ void store_rows(const MatmulParams& p, const Work& work, uint32_t staged) {
  constexpr uint32_t kVecs = kStagedRows * kStagedVecs; // of a group
  const uint32_t groups = Work::groups(p);
#pragma nounroll
  for (uint32_t vec = thread_id();; vec += kConsumerThreads) {
    const uint32_t slot = vec / kVecs, at = vec % kVecs / kStagedVecs, from = vec % kStagedVecs * kPerVec; // the row and the column in the group
    const uint32_t group = slot * work.splits + work.part, consumer = group / groups;
    if (consumer >= kConsumers) return;
    const uint32_t row = kTransposed ? group * kGroupColumns + at : consumer * kWgmmaRows + at;
    const uint32_t column = kTransposed ? from : group % groups * kGroupColumns + from;
    if (row < p.m && column < p.tile_columns && work.column + column < p.n)
      st(p.c + (row * p.n + work.column + column) * kElementBytes, ld_shared(staged + slot * kStagedBytes + at * kPitch + from * kElementBytes));
  }
}

template <typename T>
FORCE_INLINE __device__ void multiply_tile(const MatmulParams& p) {
  const uint32_t base = shared_memory(), consumer = warp_uniform(thread_id() / kWarpgroup);
  const Pipeline pipeline(p);
  const bool consumes = consumer < kConsumers, is_producer = thread_id() == kConsumerThreads;
  // All until the wait for the previous kernel overlaps with it: it reads parameters, and touches this block's shared memory alone.
  const Work work(p);
  if (is_producer) {
    pipeline.init(kConsumers * work.sharers);
    mbarrier_init(pipeline.sums_arrived(), 1);
    fence_mbarrier_init();
    mbarrier_expect(pipeline.sums_arrived(), (work.splits - 1) * work.own_groups(p) * kGroupBytes);
  }
  if (thread_id() == 0) prefetch_tensor_map(p.map_b), prefetch_tensor_map(p.map_a);
  if (consumes) clear_tails(p, work, pipeline);
  cluster_sync_mbarriers();
  grid_dependency_sync();
  float sums[kSums] = {};
  TileTimer timer(p, thread_id() == 0);
  if (is_producer) run_producer(p, work, pipeline);
  if (consumes) multiply_columns<T>(p, work, pipeline, consumer, sums, timer);
  ClusterEnd end;
  if (work.sharers > 1) end.arrive(); // this block arrives at no other block's mbarriers any more
  if (consumes) {
    if (work.splits > 1) send_sums(p, work, pipeline, consumer, sums);
    consumer_sync(); // all stages are free
    stage_sums<T>(p, work, pipeline, base, consumer, sums);
    consumer_sync();
    store_rows(p, work, base);
    timer.end(block_id(), 0, work.column, work.k_end - work.k_begin);
  }
  if (work.sharers > 1) end.wait();
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) skinny(const GRID_CONSTANT MatmulParams p) { multiply_tile<ELEMENT>(p); }
