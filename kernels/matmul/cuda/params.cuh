// The parameter block of the matmul kernels. matmul.Params mirrors it in Go;
// layout.cu exports its layout and a Go test compares them.
#pragma once

#include "../../device/params.cuh"

constexpr int kMostClusters = 72; // of a kernel; no GPU of compute capability 9.0 has multiprocessors for more

// TensorMap is CUDA's tensor map of a matrix, for TMA copies. It lies in the parameters, which nothing writes while a
// kernel runs, so that no fence is needed.
struct alignas(64) TensorMap {
  uint8_t opaque[128];
};

// Addresses are of this rank's memory. Matrices lie by rows, without gaps, except b, which lies by columns: n rows of k
// elements. What is symmetric lies at the same distance from the base of every rank's memory: see on_peer.
//
// "The last call" in a word is the epoch of that call. Such words are never reset.
struct MatmulParams {
  Params base;         // peers, fault, timeout_ns, rank and world; the rest is unused
  uint64_t a;          // of an operation that gathers, this rank's shard: m / world rows of k; else m rows
  uint64_t a_full;     // where the shards of all ranks are gathered: m rows of k
  uint64_t b;          // n rows of k
  uint64_t c;          // the result: m rows of n, or of an operation that scatters m / world rows
  uint64_t staging;    // symmetric memory for the peers' products, or for all of a rank's; see Algorithm.Staging
  uint64_t outbox;     // the same for products that peers copy from here, or 0 where products are pushed
  uint64_t counters;   // 32-bit words of this rank that are zero between calls: parts of a chunk that have been produced
  uint64_t progress;   // 32-bit words of this rank, one for each chunk of A or of products that arrives from a rank:
                       // [world][splits] the last call in which the chunk arrived
  uint64_t begun;      // symmetric 32-bit words, one for each rank: the last call that it has begun
  uint64_t copied;     // likewise: the last call in which it has copied all that it gets from this rank
  uint64_t stored;     // likewise: the last call in which it has stored all its sums here
  uint64_t produced;   // symmetric 32-bit words, one for each chunk of products that a rank makes for this one:
                       // [world][splits] the last call in which it has produced the whole chunk
  uint64_t stored_count; // a word of this rank that is zero between calls: parts of its sums that have been stored
  uint64_t partials;   // memory of this rank for the partial sums of split-K, see splitk.cuh
  uint64_t partials_ready; // a word for each warp's partial sums, zero between calls
  uint64_t trace;      // where tiles note their times, or 0
  int64_t m;           // of the whole problem
  int64_t n;
  int64_t k;           // a multiple of 8
  int64_t chunk_rows;  // rows of a shard that are copied at a time; the last chunk may have fewer
  uint32_t splits;     // chunks that arrive from each rank; there may be fewer of products that are copied
  uint32_t chunk_parts; // parts of tiles in a chunk of products; the last chunk may have fewer
  uint32_t epoch;      // of the call, never that of one shortly before
  uint32_t segment_tiles; // of sums that go to all ranks: tiles of a shard that are made before those of the next, see tile_order.cuh
  int32_t full_wave_tiles; // tiles of the waves in which every cluster has one, see tile_scheduler.cuh
  int32_t last_wave_tiles; // tiles of the wave after those
  int32_t splitk_pieces;   // pieces of these tiles that other clusters multiply
  int32_t splitk_slices;   // slices of a piece of the first of these tiles
  uint32_t splitk_step;    // by how many slices the pieces of each next tile are shorter, in units of 2^-16
  // Of skinny.cu:
  uint32_t cluster_splits; // parts of k in which the blocks of a cluster multiply the same elements of the result
  uint32_t stages;         // of the pipeline of a block
  uint32_t tile_columns;   // a multiple of 8
  uint8_t first_tiles[kMostClusters]; // the tile of the first wave that each cluster takes: a permutation, see schedule.Placement
  TensorMap map_a;     // of the matrices of that name, or nothing
  TensorMap map_a_full;
  TensorMap map_b;
  TensorMap map_a_tail; // the same with a smaller box: of the rows that a shard has after its last whole box, see tails.cuh
  TensorMap map_a_full_tail;
  TensorMap map_b_tail; // of a transposed product: the same of B
  TensorMap map_c;     // of a transposed product
};

// The address on another rank that corresponds to an address in this rank's symmetric memory.
FORCE_INLINE __device__ uint64_t on_peer(const MatmulParams& p, uint64_t address, uint32_t rank) {
  return address - p.base.peers[p.base.rank] + p.base.peers[rank];
}

// The parameter block of the kernel that computes the reference quantities of a result; matmul.check mirrors it.
struct Check {
  uint64_t a;      // rows of k elements, the first of which belongs to the first row of out
  uint64_t b;      // n rows of k elements
  uint64_t out;    // rows * n elements of four floats
  int64_t rows;
  int64_t n;
  int64_t k;
  uint32_t adds;   // 1: to what is in out; 0: out is new
  uint32_t reserved;
};
