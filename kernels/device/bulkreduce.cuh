// Reductions of inputs that arrive by bulk copies, and leave so.
#pragma once

#include "bulk.cuh"
#include "epilogue.cuh"
#include "part.cuh"
#include "reduce.cuh"

// Reduces so many bytes that lie at an offset in every rank's memory, in chunks of
// p.tile_bytes: each_place(f) calls f with the addresses that the results go to. All
// threads of the block do it. The results have been written when thread 0 returns.
//
// A stage holds a chunk of every rank. The result takes the place of rank 0's: the
// thread that stores a vector of it has read that.
template <typename T, typename Op, int N, typename EachPlace>
FORCE_INLINE __device__ void bulk_reduce(const Params& p, int64_t offset, int64_t bytes, EachPlace each_place) {
  const Chunks chunks = {bytes, p.tile_bytes};
  const int64_t count = chunks.count();
  const Ring ring;
  if (thread_id() == 0) ring.init();
  block_all(true);
#pragma nounroll
  for (int64_t next = 0; next < count + kBulkAhead; next++) {
    if (next < count && thread_id() == 0)
      ring.load(next, chunks.size(next) * world_size<N>(p), [&](uint32_t barrier) {
        each_rank_from_next(p, [&](uint32_t r) {
          bulk_load(ring.stage(next) + r * chunks.chunk, p.peers[r] + offset + chunks.begin(next), chunks.size(next), barrier);
        });
      });
    const int64_t k = next - kBulkAhead;
    if (k < 0) continue;
    ring.await(k);
    for (uint32_t at = thread_id() * kVecBytes; at < chunks.size(k); at += block_threads() * kVecBytes) {
      const auto from = [&](uint32_t r) { return ld_shared(ring.stage(k) + r * chunks.chunk + at); };
      st_shared(ring.stage(k) + at, reduce_loaded<T, Op, N>(p, from).rounded());
    }
    copies_see_it();
    block_all(true);
    if (thread_id() != 0) continue;
    each_place([&](uint64_t to) { bulk_store(to + chunks.begin(k), ring.stage(k), chunks.size(k)); });
    bulk_commit();
  }
  if (thread_id() == 0) bulk_wait_written();
}

// Reduces elements [begin, end) by ordinary loads and stores: few, or not aligned.
template <typename T, typename Op, typename EachPlace>
FORCE_INLINE __device__ void reduce_singly(const Params& p, int64_t begin, int64_t end, EachPlace each_place) {
  using Bits = typename T::Bits;
  const auto from_all = [&](int64_t i) {
    return reduce_loaded<T, Op, 0>(p, [&](uint32_t r) { return ((Global<const Bits>)(p.peers[r] + p.send_offset))[i]; });
  };
  Plain::drive(p, whole_grid(), begin, end, from_all, [&](int64_t, int64_t i, Bits result) {
    each_place([&](uint64_t to) { ((Global<Bits>)to)[i] = result; });
  });
}

// Reduces the inputs, of which share(items) is this rank's range of so many items,
// vectors and then what is left of elements. each_place(f) calls f with the beginning of
// every output that the results go to.
template <typename T, typename Op, int N, typename Share, typename EachPlace>
FORCE_INLINE __device__ void bulk_reduce_share(const Params& p, Share share, EachPlace each_place) {
  constexpr int64_t kPerVec = kVecBytes / sizeof(typename T::Bits);
  const bool aligned = is_aligned(p.send_offset) && is_aligned(p.recv_offset);
  const int64_t vecs = aligned ? p.bytes / kVecBytes : 0;
  const Range whole = share(vecs);
  const int64_t at = whole.begin * kVecBytes;
  bulk_reduce<T, Op, N>(p, p.send_offset + at, (whole.end - whole.begin) * kVecBytes,
                        [&](auto f) { each_place([&](uint64_t to) { f(to + at); }); });
  const int64_t done = vecs * kPerVec;
  const Range rest = share(p.bytes / (int64_t)sizeof(typename T::Bits) - done);
  reduce_singly<T, Op>(p, done + rest.begin, done + rest.end, each_place);
}
