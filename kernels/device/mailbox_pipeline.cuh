// A pipeline of tiles through mailboxes, for ranks whose links carry other data in the two phases of a tile: a rank sends tile
// t while it receives tile t-1, vector by vector, so that both phases use the links at the same time.
//
// Slots: a block has four, the halves of its two slots of mailbox.cuh. Tile t of a launch, counted from 0, lies in the slot of
// its epoch's parity, in half t/2 % 2. It overwrites tile t-4.
//
// Why no receiver finds old data in a slot: a thread sends vector i of tile t after it has received vector i of tile t-1, from
// every rank or from a rank that had. A rank sends nothing of tile t-1 before its whole block has emptied tile t-3 and all
// tiles before. So every rank has emptied tile t-4, or, when t is 1, 2 or 3, what an earlier launch left in that half.
//
// The next launch may write the slot of the other parity, where tile T-2 of T tiles lies. After vector 0 of the last tile has
// arrived, thread 0 therefore stores a closing vector of any content to every peer, beside the last tile: in the other half
// of its slot, which tile T-3 has left. The thread waits for the peers' closing vectors at the end of the launch. A rank
// sends its closing vector after its whole block has emptied tile T-2.
//
// Memory order: as in mailbox.cuh. A fence stands between a thread's receipt of tile t-1 and what it sends of tile t+1.
#pragma once

#include "mailbox.cuh"

// Calls f(i) for the vectors of a tile that this thread handles.
template <typename F>
FORCE_INLINE __device__ void each_vec_of_tile(int64_t vecs, F f) {
  for (int64_t i = thread_id(); i < vecs; i += block_threads()) f(i);
}

// The half of its slot that holds a tile of a launch.
FORCE_INLINE __device__ uint32_t half_of_tile(uint32_t tile) { return tile / 2 % 2; }

// Sends a closing vector to every peer, and waits for theirs.
template <int N>
class Closing {
 public:
  FORCE_INLINE __device__ Closing(const Params& p, uint32_t epoch, uint32_t last_tile)
      : p_(p), mailboxes_(p, epoch, 1 - half_of_tile(last_tile)) {}

  FORCE_INLINE __device__ void send() {
    each_peer<N>(p_, [&](uint32_t peer) { mailboxes_.send(peer, p_.rank, 0, Vec{}); });
  }
  FORCE_INLINE __device__ void receive() {
    mailboxes_.extend_deadline();
    mailboxes_.receive(0, Vec{}, [](Vec) {}, [](uint32_t, Vec) {});
  }

 private:
  const Params& p_;
  Mailboxes<N> mailboxes_;
};

// Exchanges parts of `vecs` vectors among all ranks. send(mailboxes, index, i) stores vector `index` of the parts, which is
// vector i of its tile, and receive(mailboxes, index, i) waits for it. For vector 0 of a tile, each rank stores something
// to every rank that waits, even if its part has no such vector; see the top of this file.
template <int N, typename Send, typename Receive>
FORCE_INLINE __device__ void pipeline_mailboxes(const Params& p, Epochs& epochs, int64_t vecs, Send send, Receive receive) {
  const int64_t most = whole_vecs_in(p.tile_bytes), stride = grid_blocks() * most;
  const auto vecs_from = [&](int64_t begin) { return begin + most < vecs ? most : vecs - begin; };
  int64_t begin = block_id() * most;
  if (begin >= vecs) return;

  uint32_t tile = 0, epoch = epochs.advance();
  const bool ok = !epochs.failed();
  if (ok) {
    const Mailboxes<N> first(p, epoch);
    each_vec_of_tile(vecs_from(begin), [&](int64_t i) { send(first, begin + i, i); });
  }
  if (!block_all(ok)) return; // all threads have read the epoch
  epochs.save();

  for (; begin + stride < vecs; begin += stride) {
    Mailboxes<N> here(p, epoch, half_of_tile(tile));
    const Mailboxes<N> next(p, epoch = epochs.advance(), half_of_tile(++tile));
    const int64_t coming = vecs_from(begin + stride);
    each_vec_of_tile(most, [&](int64_t i) {
      receive(here, begin + i, i);
      if (i < coming && !here.failed()) send(next, begin + stride + i, i);
    });
    epochs.save();
    if (!block_all(!here.failed())) return;
    release_to_system();
  }

  Mailboxes<N> last(p, epoch, half_of_tile(tile));
  Closing<N> closing(p, epoch, tile);
  const bool closes = tile > 0 && thread_id() == 0;
  each_vec_of_tile(vecs_from(begin), [&](int64_t i) {
    receive(last, begin + i, i);
    if (closes && i == 0 && !last.failed()) closing.send();
  });
  if (closes && !last.failed()) closing.receive();
}
