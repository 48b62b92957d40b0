// The naive GEMM, and the reference quantities of a result: a thread for each element.
//
// Algorithm: products of elements are added in fp32, in the order of k, by fused multiply-adds. naive_gemm rounds the sum to
// the element type. naive_check computes the quantities that a result is verified by: see Quantities.
//
// Buffers: the matrices lie by rows without gaps; b by columns, so that both operands are read along k. Both are aligned to
// 16 bytes, and k is a multiple of 8.
//
// Memory order: none beyond that of the stream.
//
// The caller gives any grid of blocks of kBlockThreads threads. Any m and n. sm_80 and up; no rank waits for another.

#include "../../device/types.cuh"
#include "../../device/vector.cuh"
#include "params.cuh"
#include "trace.cuh"

constexpr int kTile = 16; // rows and columns of a block's tile
constexpr int kBlockThreads = kTile * kTile;

// Calls element(row, column) for every element of a matrix, by a thread each. The blocks take its tiles along the rows.
template <typename Element>
FORCE_INLINE __device__ void each_element(int64_t rows, int64_t columns, Element element) {
  const int64_t across = (columns + kTile - 1) / kTile, tiles = (rows + kTile - 1) / kTile * across;
  for (int64_t tile = block_id(); tile < tiles; tile += grid_blocks()) {
    const int64_t row = tile / across * kTile + thread_id() / kTile, column = tile % across * kTile + thread_id() % kTile;
    if (row < rows && column < columns) element(row, column);
  }
}

// Calls add(x, y) for the elements of two rows of k elements, pair by pair.
template <typename T, typename Add>
FORCE_INLINE __device__ void each_pair(uint64_t a, uint64_t b, int64_t k, Add add) {
  constexpr int kPerVec = kVecBytes / sizeof(typename T::Bits);
  for (int64_t at = 0; at < k; at += kPerVec) {
    const auto x = __builtin_bit_cast(Elements<T, Vec>, ld(a + at * sizeof(typename T::Bits)));
    const auto y = __builtin_bit_cast(Elements<T, Vec>, ld(b + at * sizeof(typename T::Bits)));
#pragma unroll
    for (int i = 0; i < kPerVec; i++) add(T::load(x.at[i]), T::load(y.at[i]));
  }
}

template <typename T>
FORCE_INLINE __device__ void naive_gemm_tiles(const MatmulParams& p) {
  using Bits = typename T::Bits;
  const int64_t row_bytes = p.k * sizeof(Bits);
  each_element(p.m, p.n, [&](int64_t row, int64_t column) {
    const uint64_t begin = p.trace ? global_timer() : 0;
    float sum = 0;
    each_pair<T>(p.a + row * row_bytes, p.b + column * row_bytes, p.k,
                 [&](float x, float y) { sum = __builtin_fmaf(x, y, sum); });
    ((Global<Bits>)p.c)[row * p.n + column] = T::store(sum);
    if (p.trace && row % kTile == 0 && column % kTile == 0) { // the thread of the corner notes its times
      const int64_t tile = row / kTile * ((p.n + kTile - 1) / kTile) + column / kTile;
      note_tile(p, tile, {block_id(), (uint32_t)row, (uint32_t)column, 0, begin, begin, global_timer()});
    }
  });
}

extern "C" __global__ void __launch_bounds__(kBlockThreads) naive_gemm(const MatmulParams p) { naive_gemm_tiles<ELEMENT>(p); }

// Quantities are what an element of a result is verified by; reference.Quantities mirrors them. Each is a sum over the
// products whose sum the result is.
struct Quantities {
  float sum;       // of the products
  float rounded;   // of the products, each rounded to the element type
  float magnitude; // of the magnitudes of all that is added up in the products
  float partials;  // of the magnitudes of the products
};

// Adds one product's contribution to an element's quantities.
template <typename T>
FORCE_INLINE __device__ void add_quantities(const Check& p, int64_t row, int64_t column) {
  const int64_t row_bytes = p.k * sizeof(typename T::Bits);
  const uint64_t at = p.out + (row * p.n + column) * sizeof(Quantities);
  Quantities q = {};
  if (p.adds) q = __builtin_bit_cast(Quantities, ld(at));
  float sum = 0, magnitude = 0;
  each_pair<T>(p.a + row * row_bytes, p.b + column * row_bytes, p.k, [&](float x, float y) {
    sum = __builtin_fmaf(x, y, sum);
    magnitude = __builtin_fmaf(__builtin_fabsf(x), __builtin_fabsf(y), magnitude);
  });
  q.sum += sum;
  q.rounded += T::load(T::store(sum));
  q.magnitude += magnitude;
  q.partials += __builtin_fabsf(sum);
  st(at, __builtin_bit_cast(Vec, q));
}

extern "C" __global__ void __launch_bounds__(kBlockThreads) naive_check(const Check p) {
  each_element(p.rows, p.n, [&](int64_t row, int64_t column) { add_quantities<ELEMENT>(p, row, column); });
}
