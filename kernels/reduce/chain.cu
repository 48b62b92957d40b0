// reduce, chain: the ranks form a chain (device/chain.cuh) that begins behind the root and ends with it. Each rank adds its
// input to the partial results of the rank before, and pushes them on, vector by vector.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. each thread takes the vectors of the data in turn, on all ranks the same ones. It waits for the partial result from the
//      rank before, combines it with the own input, and stores it to the next rank; the first rank stores its input, and the
//      root stores to its output
//
// Rounding: the partial result of each rank is rounded to the element type, as in NCCL. The order of the ranks is that of the
// chain: root+1, ..., world-1, 0, ..., root.
//
// Vectors are encoded as in device/mailbox.cuh, which floats alone allow.
//
// Buffers: input and output are local, may be the same, and need no symmetric address. Only the root's output is written.
//
// The caller gives the same bytes, root and grid on all ranks, a grid of at most kMaxBlocks blocks that are all resident, and
// blocks of a multiple of 32 threads. Any count and alignment. Floats of up to 32 bits. sm_90 and up, up to kMaxRanks ranks.

#include "../device/chain.cuh"
#include "../device/entries.cuh"

// Vectors that a thread waits for at once.
constexpr int kAtOnce = 2;

// What a rank does with a partial result.
enum Role { kFirst, kMiddle, kLast };

// Moves the vectors at(0), ..., at(kVecs - 1). False if the wait for them has expired.
template <typename T, typename Op, Role role, int kVecs, typename At>
FORCE_INLINE __device__ bool move_on(const Params& p, const Link& link, const Buffer& recv, At at, const Vec (&own)[kVecs]) {
  Vectors<kVecs> arrived = {};
  if (role != kFirst && !link.receive(at, [](int) { return true; }, arrived)) return false;
#pragma unroll
  for (int k = 0; k < kVecs; k++) {
    Partial<T, Vec> partial(role == kFirst ? own[k] : ~arrived.of[k]);
    if constexpr (role != kFirst) {
      const Partial<T, Vec> mine(own[k]);
      with_op<Op>(p, [&](auto op) {
        partial.combine(op, mine);
        if constexpr (role == kLast) partial.finish(op, p.world);
      });
    }
    const Vec result = role == kFirst ? own[k] : partial.rounded();
    if constexpr (role == kLast)
      recv.store<sizeof(typename T::Bits)>(at(k), result);
    else
      link.send(at(k), encoded(result));
  }
  return true;
}

// Loads kVecs whole vectors.
template <int kVecs, typename At>
FORCE_INLINE __device__ void load_whole(const Buffer& from, At at, Vec (&v)[kVecs]) {
#pragma unroll
  for (int k = 0; k < kVecs; k++) v[k] = ld(from.address + at(k) * kVecBytes);
}

// Moves this thread's vectors.
template <typename T, typename Op, Role role>
FORCE_INLINE __device__ void move_all(const Params& p, const Link& link) {
  const uint64_t base = p.peers[p.rank];
  const Buffer send(base + p.send_offset, p.bytes), recv(base + p.recv_offset, p.bytes);
  const int64_t step = grid_blocks() * block_threads(), end = vecs_in(p.bytes);
  int64_t i = block_id() * block_threads() + thread_id();
  const auto from = [&](int64_t first) { return [=](int k) { return first + k * step; }; };
  const auto all_whole = [&](int64_t first) { return first + (kAtOnce - 1) * step < send.whole; };
  if (all_whole(i)) {
    Vec own[kAtOnce], next[kAtOnce] = {};
    load_whole(send, from(i), own);
    for (bool more = true; more; i += kAtOnce * step) {
      more = all_whole(i + kAtOnce * step);
      if (more) load_whole(send, from(i + kAtOnce * step), next); // while the vectors before arrive
      if (!move_on<T, Op, role>(p, link, recv, from(i), own)) return;
#pragma unroll
      for (int k = 0; k < kAtOnce; k++) own[k] = next[k];
    }
  }
#pragma nounroll
  for (; i < end; i += step) {
    const Vec own[1] = {send.load(i)};
    if (!move_on<T, Op, role>(p, link, recv, from(i), own)) return;
  }
}

// A single rank is the root, and has nothing to wait for.
template <typename T, typename Op>
FORCE_INLINE __device__ void copy_own(const Params& p) {
  const uint64_t base = p.peers[p.rank];
  const Buffer send(base + p.send_offset, p.bytes), recv(base + p.recv_offset, p.bytes);
  for (int64_t i = block_id() * block_threads() + thread_id(); i < vecs_in(p.bytes); i += grid_blocks() * block_threads()) {
    Partial<T, Vec> own(send.load(i));
    with_op<Op>(p, [&](auto op) { own.finish(op, 1); });
    recv.store<sizeof(typename T::Bits)>(i, own.rounded());
  }
}

template <typename T, typename Op>
FORCE_INLINE __device__ void chain(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first_in_order(p.world, p.root + 1 < p.world ? p.root + 1 : 0)) return;
  epochs.save();
  if (p.world == 1) return copy_own<T, Op>(p);
  const Link link(p, p.rank > p.root ? p.rank - p.root - 1 : p.rank + p.world - p.root - 1);
  if (link.is_last()) return move_all<T, Op, kLast>(p, link);
  if (link.is_first()) return move_all<T, Op, kFirst>(p, link);
  move_all<T, Op, kMiddle>(p, link);
}

ANY_WORLD_REDUCTIONS(chain)
