// reduce, two-shot by bulk copies: every rank sends each chunk of its input to one rank, the chunk's owner. The owner reduces
// the chunk and stores the result to the root. No link carries more than the data once in each direction, and nothing is
// loaded over a link.
//
// Algorithm: the blocks take the chunks of the data in turn. All ranks but the root own chunks, in turn; with two ranks, the
// root owns all.
//   1. the first kSenders warps of a block take its chunks in turn (device/chunks.cuh). Such a warp copies the chunk from the
//      input to this rank's slot in the owner's scratch, and notifies the owner
//   2. the other warps share each chunk that this rank owns. They wait for the notifications of all other ranks, reduce the
//      chunk of the own input and of the scratch in rank order, and store the result to the root's output
//   3. when all of its chunks are sent, a block notifies all ranks, and waits for the same from them
//   4. barrier with the same block of all ranks
//
// Why no barrier stands in front: a chunk is stored to the root's output after the root has sent its own, in this launch. The
// scratch has been read before the last barrier of the launch that read it.
//
// Epochs: each chunk takes one epoch of the block on all ranks, whoever owns it. A rank first sets its flags to the epoch
// before, since packets and mailboxes count epochs without flags; a peer may still wait for this epoch, in the launch before,
// so that the store is a release. The n-th chunk of an owner is there when a flag is n epochs on. Step 3 and the barrier have
// an epoch each after those of all chunks.
//
// Buffers: input and output are in symmetric memory, and may be the same. Only the root's output is written. The scratch of an
// owner has a slot for each other rank, with room for all chunks of the owner.
//
// Memory order: device/chunks.cuh says how a chunk is published. The barrier publishes the results, and says that the scratch
// has been read.
//
// Time-outs: step 3 makes all ranks wait for the same missing rank. An owner whose wait has expired does not arrive at the
// barrier, where the others wait twice as long.
//
// The caller gives the same bytes, tile_bytes of at most kBulkStageBytes, root and grid on all ranks, a grid of at most
// kMaxBlocks blocks that are all resident, blocks of a multiple of 32 threads, more than kSenders warps, and
// kBulkSharedBytes of shared memory. Any count and alignment. Floats of up to 32 bits. sm_90 and up, up to kMaxRanks ranks.

#include "../device/chunks.cuh"
#include "../device/entries.cuh"
#include "../device/reduce.cuh"
#include "../device/scratch_slots.cuh"

// More would fill the links with input before the first result is sent (kernels/NOTES.md).
constexpr uint32_t kSenders = 2;
static_assert(kSenders <= kBulkStages, "each has a stage of shared memory");

// The chunks of this block, and who owns them.
template <int N>
class OwnedChunks : public Chunks {
 public:
  FORCE_INLINE __device__ explicit OwnedChunks(const Params& p)
      : Chunks{p.bytes, p.tile_bytes},
        p_(p),
        world_(world_size<N>(p)),
        owners_(world_ > 2 ? world_ - 1 : 1),
        most_(((uint32_t)((bytes + chunk - 1) / chunk) + owners_ - 1) / owners_) {}

  FORCE_INLINE __device__ uint32_t owner(int64_t k) const {
    if (owners_ == 1) return p_.root;
    const uint32_t owner = p_.root + 1 + number(k) % owners_;
    return owner < world_ ? owner : owner - world_;
  }

  // The slots in an owner's scratch, and the offset of chunk k in each of them.
  FORCE_INLINE __device__ ScratchSlots slots(uint32_t owner) const { return {p_, owner, most_ * whole_vecs_in(chunk)}; }
  FORCE_INLINE __device__ int64_t place(int64_t k) const { return number(k) / owners_ * chunk; }

 private:
  // The number of chunk k among those of all blocks.
  FORCE_INLINE __device__ uint32_t number(int64_t k) const { return block_id() + (uint32_t)k * grid_blocks(); }

  const Params& p_;
  uint32_t world_, owners_, most_; // the most chunks that one rank owns
};

// Step 1, by a warp: sends chunks `first`, first + kSenders, ... of the block.
template <int N>
FORCE_INLINE __device__ void send_chunks(const Params& p, const OwnedChunks<N>& chunks, const NotifyOrder& order,
                                         int64_t first) {
  const bool leads = lane_id() == 0;
  Stage stage((uint32_t)first);
  if (leads) stage.init();
  const int64_t count = chunks.count();
#pragma nounroll
  for (int64_t k = first; k < count; k += kSenders) {
    const uint32_t owner = chunks.owner(k);
    if (owner != p.rank) {
      const Buffer from(p.peers[p.rank] + p.send_offset + chunks.begin(k), chunks.size(k));
      const Buffer to(chunks.slots(owner).of(p.rank) + chunks.place(k), vecs_in(from.bytes) * kVecBytes);
      copy_chunk(from, true, stage, [&](auto f) { f(to); });
      warp_all(true);
      if (leads) notify(p, owner, order, k, true);
    } else if (leads) {
      order.wait_for(k);
      order.set_next(k + 1);
    }
  }
}

// Reduces vectors `first`, first + step, ... of a chunk.
template <typename T, typename Op, int N>
FORCE_INLINE __device__ void reduce_chunk(const Params& p, const OwnedChunks<N>& chunks, int64_t k, int64_t first,
                                          int64_t step) {
  constexpr int kInFlight = N == 2 ? 4 : N == 4 ? 2 : 1; // vectors of a thread from every rank
  const int64_t begin = chunks.begin(k), bytes = chunks.size(k), end = vecs_in(bytes);
  const Buffer own(p.peers[p.rank] + p.send_offset + begin, bytes), result(p.peers[p.root] + p.recv_offset + begin, bytes);
  const ScratchSlots slots = chunks.slots(p.rank);
  const int64_t place = chunks.place(k);
  const auto reduced = [&](Vec mine, int64_t i) {
    return reduce_loaded<T, Op, N>(p, [&](uint32_t r) { return r == p.rank ? mine : ld(slots.of(r) + place + i * kVecBytes); });
  };
  const int64_t whole = own.whole < result.whole ? own.whole : result.whole;
  int64_t i = first;
  for (; i + (kInFlight - 1) * step < whole; i += kInFlight * step) {
    Partial<T, Vec> results[kInFlight];
#pragma unroll
    for (int n = 0; n < kInFlight; n++) results[n] = reduced(ld(own.address + (i + n * step) * kVecBytes), i + n * step);
#pragma unroll
    for (int n = 0; n < kInFlight; n++) st(result.address + (i + n * step) * kVecBytes, results[n].rounded());
  }
#pragma nounroll
  for (; i < end; i += step) result.store<sizeof(typename T::Bits)>(i, reduced(own.load(i), i).rounded());
}

// Step 2, by a warp. `epoch` is the one before that of the first chunk. False if the wait for a chunk has expired.
template <typename T, typename Op, int N>
FORCE_INLINE __device__ bool reduce_chunks(const Params& p, const OwnedChunks<N>& chunks, uint32_t epoch) {
  const int64_t count = chunks.count(), senders = kSenders * kWarp;
#pragma nounroll
  for (int64_t k = 0; k < count; k++) {
    if (chunks.owner(k) != p.rank) continue;
    epoch++;
    bool ok = true;
    for (uint32_t r = lane_id(); r < world_size<N>(p); r += kWarp)
      ok = ok && (r == p.rank || wait_for_peer(p, kChunk, r, epoch));
    if (!warp_all(ok)) return false;
    reduce_chunk<T, Op, N>(p, chunks, k, thread_id() - senders, block_threads() - senders);
  }
  return true;
}

// Step 3, by a warp. False if some rank has not sent its chunks in time.
template <int N>
FORCE_INLINE __device__ bool all_sent(const Params& p, const NotifyOrder& order, int64_t count, uint32_t epoch) {
  order.wait_for(count);
  bool ok = true;
  for (uint32_t r = lane_id(); r < world_size<N>(p); r += kWarp) st_flag_release(flag_address(p, r, p.rank), epoch);
  for (uint32_t r = lane_id(); r < world_size<N>(p); r += kWarp) ok = ok && wait_for_peer(p, kStageBarrier, r, epoch);
  return ok;
}

template <typename T, typename Op, int N, typename Epilogue>
FORCE_INLINE __device__ void twoshot_bulk(const Params& p) {
  const OwnedChunks<N> chunks(p);
  const NotifyOrder order;
  if (thread_id() == 0) order.set_next(0);
  Epochs epochs(p);
  const uint32_t warp = thread_id() / kWarp, count = (uint32_t)chunks.count(), before = epochs.skip(count + 1);
  if (!epochs.failed() && thread_id() < world_size<N>(p)) st_flag_release(flag_address(p, thread_id(), p.rank), before);
  if (!block_all(!epochs.failed())) return;
  bool ok = true;
  if (warp >= kSenders) {
    ok = reduce_chunks<T, Op>(p, chunks, before);
  } else {
    send_chunks(p, chunks, order, warp);
    if (warp == 0) ok = all_sent<N>(p, order, count, before + count + 1);
  }
  if (block_all(ok)) epochs.sync_last(world_size<N>(p), 2);
}

REDUCTIONS(twoshot_bulk)
