// broadcast, chain: the ranks form a chain (device/chain.cuh) that begins with the root. Each rank stores every vector that
// arrives to its output, and pushes it on to the next rank.
//
// Algorithm:
//   1. barrier with the same block of all ranks
//   2. the warps of the grid take groups of 32 * kAtOnce vectors in turn, on all ranks the same ones. The root stores a group of
//      its input to the next rank, and out of place to its own output. Every other rank waits for the group from the rank
//      before, stores it to the next rank, unless that is the root, and to its output
//
// Any bits: vectors are encoded with a key for each group, as the rows of device/keyed_mailbox.cuh are. The ranks between pass
// keys and vectors on as they are. The keys lie behind the vectors.
//
// Buffers: input and output are local, may be the same, and need no symmetric address. Only the root's input is read.
//
// The caller gives the same bytes, root and grid on all ranks, a grid of at most kMaxBlocks blocks that are all resident, and
// blocks of a multiple of 32 threads. Any count and alignment. sm_90 and up, up to kMaxRanks ranks.

#include "../device/chain.cuh"
#include "../device/copy.cuh"
#include "../device/entries.cuh"
#include "../device/keyed_mailbox.cuh"

// Vectors of a group that each lane has.
constexpr int kAtOnce = 4;
constexpr int64_t kGroupVecs = kWarp * kAtOnce;

using Group = Vectors<kAtOnce>; // a lane's vectors of a group

// Where groups lie in the memory for vectors that arrive. `i` is this lane's first vector of a group.
class Groups {
 public:
  FORCE_INLINE __device__ Groups(const Params& p, const Link& link) : link_(link), keys_(vecs_in(p.bytes)) {}

  // Stores a group, encoded, to the next rank: the vectors k for which has(k) is true, and by one lane the key.
  template <typename Has>
  FORCE_INLINE __device__ void send(int64_t i, Has has, const Group& g, Vec key) const {
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
      if (has(k)) link_.send(i + k * (int64_t)kWarp, g.of[k]);
    if (has_key()) link_.send(key_at(i), key);
  }

  // Waits for a group, encoded. False if the wait has expired.
  template <typename Has>
  FORCE_INLINE __device__ bool receive(int64_t i, Has has, Group& g, Vec& key) const {
    const auto at = [&](int k) { return k < kAtOnce ? i + k * (int64_t)kWarp : key_at(i); };
    const auto expected = [&](int k) { return k < kAtOnce ? has(k) : has_key(); };
    Vectors<kAtOnce + 1> arrived = {}; // the last one is the key
    if (!link_.receive(at, expected, arrived)) return false;
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) g.of[k] = arrived.of[k];
    key = arrived.of[kAtOnce];
    return true;
  }

 private:
  static FORCE_INLINE __device__ bool has_key() { return lane_id() == 0; }
  FORCE_INLINE __device__ int64_t key_at(int64_t i) const { return keys_ + i / kGroupVecs; }

  const Link& link_;
  int64_t keys_; // the place of the first key
};

// Encodes a group, or decodes it.
FORCE_INLINE __device__ Group with_key(const Group& g, uint32_t key) {
  Group result;
#pragma unroll
  for (int k = 0; k < kAtOnce; k++) result.of[k] = ~(g.of[k] ^ key);
  return result;
}

template <typename Has>
FORCE_INLINE __device__ void store_group(const Buffer& to, int64_t i, Has has, const Group& g) {
#pragma unroll
  for (int k = 0; k < kAtOnce; k++)
    if (has(k)) store_bytes(to, i + k * (int64_t)kWarp, g.of[k]);
}

// Sends a group of the root's input.
template <typename Has>
FORCE_INLINE __device__ void send_input(const Link& link, const Groups& groups, const Buffer& input, const Buffer& output, int64_t i,
                                        Has has) {
  Group g = {};
#pragma unroll
  for (int k = 0; k < kAtOnce; k++)
    if (has(k)) g.of[k] = input.load(i + k * (int64_t)kWarp);
  if (!link.is_last()) {
    const uint32_t key = key_for(g);
    groups.send(i, has, with_key(g, key), Vec{key, key, key, key});
  }
  if (input.address != output.address) store_group(output, i, has, g);
}

// Passes a group on. False if the wait of a lane has expired.
template <typename Has>
FORCE_INLINE __device__ bool pass_on(const Link& link, const Groups& groups, const Buffer& output, int64_t i, Has has) {
  Group g;
  Vec key;
  const bool ok = groups.receive(i, has, g, key);
  if (!__nvvm_vote_all_sync(0xffffffff, ok)) return false;
  if (!link.is_last()) groups.send(i, has, g, key);
  store_group(output, i, has, with_key(g, from_first_lane(key.x)));
  return true;
}

// The lane has all of its vectors of the group.
struct Whole {
  FORCE_INLINE __device__ bool operator()(int) const { return true; }
};

FORCE_INLINE __device__ void chain(const Params& p) {
  Epochs epochs(p);
  if (!epochs.sync_first_in_order(p.world, p.root)) return;
  epochs.save();
  const uint64_t base = p.peers[p.rank];
  const Buffer input(base + p.send_offset, p.bytes), output(base + p.recv_offset, p.bytes);
  const Link link(p, p.rank >= p.root ? p.rank - p.root : p.rank + p.world - p.root);
  const Groups groups(p, link);
  const auto move = [&](int64_t i, auto has) {
    if (!link.is_first()) return pass_on(link, groups, output, i, has);
    send_input(link, groups, input, output, i, has);
    return true;
  };
  const uint32_t warps = block_threads() / kWarp;
  const int64_t end = vecs_in(p.bytes), step = grid_blocks() * warps * kGroupVecs, lane = lane_id();
  int64_t begin = (block_id() * warps + thread_id() / kWarp) * kGroupVecs;
#pragma nounroll
  for (; begin + kGroupVecs <= whole_vecs_in(p.bytes); begin += step)
    if (!move(begin + lane, Whole{})) return;
  if (begin < end) move(begin + lane, [&](int k) { return begin + lane + k * (int64_t)kWarp < end; });
}

ENTRY(broadcast_chain, chain)
