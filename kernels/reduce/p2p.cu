// reduce, peer to peer: every rank but the root reduces its share of the data and
// stores the result to the root. No link carries more than the data once. With two ranks
// the root reduces everything: the data then crosses the link in one direction only.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. every rank but the root: load this rank's 1/(n-1) share of every rank's input,
//      reduce in rank order, store to the root's output; with two ranks, the root does
//      this for the whole data
//   3. barrier again
//
// Why the root reduces nothing with more ranks: its link would carry n-1 inputs. Even for a
// share of the data the root would load n-1 times that share, and receive only one share of
// results less.
//
// Buffers: the inputs and the root's output lie in symmetric memory at the same offsets on
// all ranks. The root's output may be its input: the thread that writes an element has read
// it before, and no other thread reads it.
//
// Memory order: barrier 1 publishes the inputs and allows the output to be overwritten;
// barrier 3 publishes the results and says that the inputs have been read.
//
// The caller gives the same bytes, root and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, and blocks of a multiple of 32
// threads. Any count and alignment; aligned buffers run on vectors. sm_80 and up,
// up to kMaxRanks ranks.

#include "../device/barrier.cuh"
#include "../device/entries.cuh"
#include "../device/part.cuh"
#include "../device/reduce.cuh"

// This rank's share of items.
FORCE_INLINE __device__ Range share_of(int64_t items, const Params& p) {
  if (p.world == 2) return {0, p.rank == p.root ? items : 0};
  return share_beside_root(items, p);
}

// Loads of a thread in flight from every rank: more where there is one peer to load from. Its link has
// 0.7 MB in flight.
template <int N>
constexpr int kInFlight = N == 2 ? 2 : 1;

// Reduces this rank's share of chunks [begin, end), vectors or elements.
template <typename Chunk, typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void reduce_share(const Params& p, int64_t begin, int64_t end) {
  const Range share = share_of(end - begin, p);
  const auto from_all = [&](int64_t i) {
    return reduce_loaded<T, Op, N>(
        p, [&](uint32_t r) { return ((Global<const Chunk>)(p.peers[r] + p.send_offset))[i]; });
  };
  const auto to_root = [&](int64_t offset, int64_t i, Chunk c) { ((Global<Chunk>)(p.peers[p.root] + offset))[i] = c; };
  Epilogue::template run<kMaxRowVecs, kInFlight<N>>(p, whole_grid(), begin + share.begin, begin + share.end, from_all,
                                                      to_root);
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void p2p(const Params& p) {
  using Bits = typename T::Bits;
  Epochs epochs(p);
  if (!epochs.sync_first(world_size<N>(p))) return;
  const bool aligned = is_aligned(p.send_offset) && is_aligned(p.recv_offset);
  const int64_t vecs = aligned ? p.bytes / kVecBytes : 0;
  constexpr int64_t kPerVec = kVecBytes / sizeof(Bits);
  reduce_share<Vec, T, Op, N, Epilogue>(p, 0, vecs);
  reduce_share<Bits, T, Op, 0, Epilogue>(p, vecs * kPerVec, p.bytes / sizeof(Bits)); // the last elements, or all of an unaligned buffer
  epochs.sync_last(world_size<N>(p));
}

REDUCTIONS(p2p)
