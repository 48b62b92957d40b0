// Epilogues: operations on a result between the reduction and the store, in the element type's Work.
//
// An epilogue's run calls reduce(i) for every chunk i of [begin, end), a vector or an element, and put(offset, i, chunk)
// with each outcome. put stores the chunk to the buffers at that offset, which are a Store each. The blocks of a group
// share the chunks. A row has at most kRowVecs vectors.
#pragma once

#include "params.cuh"
#include "reduce.cuh"
#include "types.cuh"

// BlockGroup is how many blocks share a range, and this block's number among them.
struct BlockGroup {
  uint32_t block, blocks;
};

FORCE_INLINE __device__ BlockGroup whole_grid() { return {block_id(), grid_blocks()}; }
constexpr BlockGroup kSingleBlock = {0, 1};

// Elementwise has the run of epilogues that need one element at a time. A thread reduces kInFlight chunks before it
// stores the first.
template <typename Epilogue>
struct Elementwise {
  static constexpr bool kByRow = false;
  using Store = Buffer;

  template <int kRowVecs = kMaxRowVecs, int kInFlight = 1, typename Reduce, typename Put>
  static FORCE_INLINE __device__ void run(const Params& p, BlockGroup group, int64_t begin, int64_t end, Reduce reduce,
                                            Put put) {
    const int64_t step = group.blocks * block_threads();
    int64_t i = begin + group.block * block_threads() + thread_id();
    if constexpr (kInFlight > 1) {
      for (; i + (kInFlight - 1) * step < end; i += kInFlight * step) {
        decltype(reduce(i)) results[kInFlight];
#pragma unroll
        for (int k = 0; k < kInFlight; k++) results[k] = reduce(i + k * step);
#pragma unroll
        for (int k = 0; k < kInFlight; k++) {
          Epilogue::apply(p, i + k * step, results[k]);
          put(p.recv_offset, i + k * step, results[k].rounded());
        }
      }
    }
    for (; i < end; i += step) {
      auto result = reduce(i);
      Epilogue::apply(p, i, result);
      put(p.recv_offset, i, result.rounded());
    }
  }
};

// Plain stores the reduction as it is.
struct Plain : Elementwise<Plain> {
  template <typename Result>
  static FORCE_INLINE __device__ void apply(const Params&, int64_t, Result&) {}
};

struct Negate : Elementwise<Negate> {
  template <typename Result>
  static FORCE_INLINE __device__ void apply(const Params&, int64_t, Result& result) {
#pragma unroll
    for (auto& x : result.at) x = -x;
  }
};

struct Scale : Elementwise<Scale> {
  template <typename Result>
  static FORCE_INLINE __device__ void apply(const Params& p, int64_t, Result& result) {
#pragma unroll
    for (auto& x : result.at) x *= p.scale;
  }
};

// The chunk of this rank's row of weights that belongs to chunk i of the data.
template <typename Chunk>
FORCE_INLINE __device__ Chunk weight(const Params& p, int64_t i) {
  const auto row = (Global<const Chunk>)(p.peers[p.rank] + p.weight_offset);
  return row[(uint64_t)i % (uint32_t)(p.row_bytes / sizeof(Chunk))];
}

// Bias adds the same row to every row.
struct Bias : Elementwise<Bias> {
  template <typename T, typename Chunk>
  static FORCE_INLINE __device__ void apply(const Params& p, int64_t i, Partial<T, Chunk>& result) {
    const Partial<T, Chunk> bias(weight<Chunk>(p, i));
#pragma unroll
    for (int k = 0; k < result.kElements; k++) result.at[k] += bias.at[k];
  }
};

// The sum of x over the block's threads, always in the same order. Every warp adds the sums of all warps by itself.
FORCE_INLINE __device__ float block_sum(float x) {
  constexpr uint32_t kWarps = kMaxThreads / kWarp;
  __shared__ float of_warp[kWarps];
#pragma unroll
  for (uint32_t distance = kWarp / 2; distance > 0; distance /= 2) x += shuffle_xor(x, distance);
  if (lane_id() == 0) of_warp[thread_id() / kWarp] = x;
  block_all(true);
  const uint32_t warp = lane_id() % kWarps;
  float sum = warp < block_threads() / kWarp ? of_warp[warp] : 0;
#pragma nounroll // without a loop, ptxas computes what follows too early, and spills
  for (uint32_t distance = kWarps / 2; distance > 0; distance /= 2) sum += shuffle_xor(sum, distance);
  block_all(true); // before the next sum overwrites this one
  return sum;
}

// RMSNorm adds the residual to what an allreduce would have stored, stores the sum, and
// normalizes each row by its root mean square (Zhang and Sennrich, 2019): y = x / sqrt(mean(x^2) + epsilon)
// * weight. A block takes a row at a time.
struct RMSNorm {
  static constexpr bool kByRow = true;
  using Store = Rows;

  // All loads of a row are in flight at once, whatever kInFlight is.
  template <int kRowVecs = kMaxRowVecs, int kInFlight = 1, typename Reduce, typename Put>
  static FORCE_INLINE __device__ void run(const Params& p, BlockGroup group, int64_t begin, int64_t end, Reduce reduce,
                                            Put put) {
    const int64_t row_vecs = p.row_bytes / kVecBytes;
    for (int64_t row = begin + group.block * row_vecs; row < end; row += group.blocks * row_vecs)
      normalize<kRowVecs>(p, row, row_vecs, reduce, put);
  }

  template <int kRowVecs, typename Reduce, typename Put>
  static FORCE_INLINE __device__ void normalize(const Params& p, int64_t row, int64_t row_vecs, Reduce reduce,
                                                Put put) {
    using Result = decltype(reduce(row));
    using Work = __remove_reference_t(decltype(Result::at[0]));
    constexpr int kElements = Result::kElements;
    constexpr int kSteps = (kRowVecs + kMaxThreads - 1) / kMaxThreads;
    Result results[kSteps];
    Vec residuals[kSteps], weights[kSteps]; // loaded before anything is waited for
#pragma unroll
    for (int k = 0; k < kSteps; k++) {
      const int64_t i = k * block_threads() + thread_id();
      if (i >= row_vecs) break;
      residuals[k] = ld(p.peers[p.rank] + p.residual_offset + (row + i) * kVecBytes);
      weights[k] = ld(p.peers[p.rank] + p.weight_offset + i * kVecBytes);
    }
    Work squares = 0;
#pragma unroll
    for (int k = 0; k < kSteps; k++) {
      const int64_t i = k * block_threads() + thread_id();
      if (i >= row_vecs) break;
      results[k] = Result(reduce(row + i).rounded());
      const Result residual(residuals[k]);
#pragma unroll
      for (int e = 0; e < kElements; e++) {
        Work& x = results[k].at[e];
        x += residual.at[e];
        squares += x * x;
      }
      put(p.residual_out_offset, row + i, results[k].rounded());
    }
    const Work mean = block_sum(squares) / (Work)(row_vecs * kElements);
    const Work factor = 1 / square_root(mean + (Work)p.epsilon);
#pragma unroll
    for (int k = 0; k < kSteps; k++) {
      const int64_t i = k * block_threads() + thread_id();
      if (i >= row_vecs) break;
      const Result weight(weights[k]);
#pragma unroll
      for (int e = 0; e < kElements; e++) results[k].at[e] = results[k].at[e] * factor * weight.at[e];
      put(p.recv_offset, row + i, results[k].rounded());
    }
  }
};
