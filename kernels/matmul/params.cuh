// The parameter block of the matmul kernels. matmul.Params mirrors it in Go;
// layout.cu exports its layout and a Go test compares them.
#pragma once

#include "../device/params.cuh"

constexpr int kMostClusters = 72; // of a kernel; no GPU of compute capability 9.0 has multiprocessors for more

// TensorMap describes a matrix to copies of boxes of it. The driver makes it, and reads it where it lies: in the
// parameters, which nothing writes while a kernel runs.
struct alignas(64) TensorMap {
  uint8_t opaque[128];
};

// Addresses are of this rank's memory. Matrices lie by rows, without gaps, but for b,
// which lies by columns: n rows of k elements. What is symmetric lies at the same
// distance from the base of every rank's memory: see on_peer.
struct MatmulParams {
  Params base;         // peers, fault, timeout_ns, rank and world; the rest is unused
  uint64_t a;          // of an operation that gathers, the own shard: m / world rows of k; else m rows
  uint64_t a_full;     // where the shards of all ranks are gathered: m rows of k
  uint64_t b;          // n rows of k
  uint64_t c;          // the result: m, or of an operation that scatters, m / world rows of n
  uint64_t staging;    // symmetric memory for the peers' products, or for all of a rank's; see Algorithm.Staging
  uint64_t outbox;     // the same for products that peers copy from here, or 0: they are pushed
  uint64_t counters;   // 32-bit words of this rank that are zero between calls: so many parts of a chunk have been made
  uint64_t progress;   // 32-bit words of this rank, one for each chunk that comes from a rank, of A or of
                       // products: [world][splits] the last call that the chunk was there in, by its epoch
  uint64_t ready;      // symmetric 32-bit words, one for each rank: the last call that it has begun, by its epoch
  uint64_t taken;      // likewise: the last call in which it has copied all that it gets from this rank
  uint64_t done;       // likewise: the last call in which it has stored all its sums here
  uint64_t made;       // symmetric 32-bit words, one for each chunk of products that a rank makes for this one:
                       // [world][splits] the last call in which it has made all of the chunk
  uint64_t kept;       // a word of this rank that is zero between calls: so many parts of its sums have been stored
  uint64_t partials;   // memory of this rank for the sums of pieces of tiles, see splitk.cuh
  uint64_t partials_there; // a word for each warp's sums of a piece, zero between calls
  uint64_t trace;      // where tiles note their times, or 0
  int64_t m;           // of the whole problem
  int64_t n;
  int64_t k;           // a multiple of 8
  int64_t chunk_rows;  // rows of a shard that are copied at a time; the last chunk may have fewer
  uint32_t splits;     // chunks that come from each rank; of products that are copied there may be fewer
  uint32_t chunk_parts; // parts of tiles in a chunk of products; the last chunk may have fewer
  uint32_t epoch;      // of the call, never that of one shortly before
  uint32_t segment;    // of sums that go everywhere: tiles of a shard that are made before those of the next, see tiles.cuh
  int32_t whole;       // tiles of the rounds in which each cluster has one, see rounds.cuh
  int32_t last;        // tiles of the round behind those
  int32_t pieces;      // of these tiles, that other clusters multiply
  int32_t longest;     // slices of a piece of the first of these tiles
  uint32_t falls;      // by how many slices pieces of each next one are shorter, of 2^16
  uint32_t reserved;
  uint8_t first_tiles[kMostClusters]; // that of its first round that each cluster takes: a permutation, see placement.go
  TensorMap map_a;     // of the matrices of that name, or nothing
  TensorMap map_a_full;
  TensorMap map_b;
};

// The address on a rank that corresponds to one of this rank's symmetric memory.
FORCE_INLINE __device__ uint64_t on_peer(const MatmulParams& p, uint64_t address, uint32_t rank) {
  return address - p.base.peers[p.base.rank] + p.base.peers[rank];
}

// The parameter block of the kernel that computes what a result is judged by;
// matmul.check mirrors it.
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
