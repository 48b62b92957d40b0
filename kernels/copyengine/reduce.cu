// Reduces a piece of this rank's input and the peers' pieces, which copy engines have copied
// to the scratch.
//
// Algorithm: load a chunk from every rank's piece, reduce in rank order, store to the
// outputs.
//
// Buffers: this rank's piece begins at send_offset. The pieces of the other ranks lie in the
// scratch, in rank order, send_step bytes apart. The result is stored to recv_offset on rank
// p.root, or on all ranks if p.root is p.world. It may overwrite this rank's piece: a thread
// has read an element before it overwrites it.
//
// Memory order: the stream orders the copies before the launch. No peer accesses the pieces
// meanwhile. A barrier after the launch publishes the results. If a wait of the barrier before
// the launch has expired, a peer's memory may not be ready: the kernel then writes nothing.
//
// The caller gives a grid of at most kMaxBlocks blocks; no block waits for another. Any count and
// alignment; aligned buffers run on vectors. sm_80 and up, up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"

// Loads of a thread in flight from every rank: more where there are two ranks.
template <int N>
constexpr int kInFlight = N == 2 ? 4 : 1;

// The addresses of the ranks' pieces. They are kept as values, because clang copies all parameters to local
// memory if one is chosen by address.
class Pieces {
 public:
  FORCE_INLINE __device__ explicit Pieces(const Params& p)
      : rank_(p.rank),
        step_(p.send_step),
        own_(p.peers[p.rank] + p.send_offset),
        scratch_(p.peers[p.rank] + p.scratch_offset) {}

  FORCE_INLINE __device__ uint64_t of(uint32_t rank) const {
    const uint64_t slot = scratch_ + (rank < rank_ ? rank : rank - 1) * step_;
    return rank == rank_ ? own_ : slot;
  }

 private:
  uint32_t rank_;
  int64_t step_;
  uint64_t own_, scratch_;
};

// Reduces chunks [begin, end) of the pieces, vectors or elements.
template <typename Chunk, typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void reduce_chunks(const Params& p, int64_t begin, int64_t end) {
  const Pieces pieces(p);
  const auto from_all = [&](int64_t i) {
    return reduce_loaded<T, Op, N>(p, [&](uint32_t r) { return ((Global<const Chunk>)pieces.of(r))[i]; });
  };
  const uint32_t world = world_size<N>(p);
  const auto put = [&](int64_t offset, int64_t i, Chunk c) {
    each_rank<N, 0>(p, [&](uint32_t r) {
      if (p.root == world || p.root == r) ((Global<Chunk>)(p.peers[r] + offset))[i] = c;
    });
  };
  Epilogue::template run<kMaxRowVecs, kInFlight<N>>(p, whole_grid(), begin, end, from_all, put);
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void copyengine_reduce(const Params& p) {
  using Bits = typename T::Bits;
  if (Epochs(p).failed()) return;
  const bool aligned = is_aligned(p.send_offset) && is_aligned(p.recv_offset);
  const int64_t vecs = aligned ? p.bytes / kVecBytes : 0;
  constexpr int64_t kPerVec = kVecBytes / sizeof(Bits);
  reduce_chunks<Vec, T, Op, N, Epilogue>(p, 0, vecs);
  reduce_chunks<Bits, T, Op, 0, Epilogue>(p, vecs * kPerVec, p.bytes / sizeof(Bits)); // the last elements, or all of an unaligned buffer
}

REDUCTIONS(copyengine_reduce)
