// A pipeline of tiles through mailboxes, for ranks whose links carry other data in the two phases of a tile: a thread receives
// its vectors of tile t-1, and then sends its vectors of tile t. The threads of a block do not wait for one another between
// tiles, so that both phases use the links at the same time.
//
// Slots: as in mailbox.cuh, so that tile t overwrites tile t-2. A mailbox has a spare vector, for the end of the launch.
//
// Why no receiver finds old data in a slot: the same thread of the block sends and receives vector i of all tiles, on all
// ranks. It sends vector i of tile t after it has received vector i of tile t-1 from every rank, or from a rank that had.
// That rank's thread sent it after it had emptied vector i of tile t-2. A launch before has left no vector that this launch
// overwrites in its first tile, see mailbox.cuh; and whoever sends in this launch has emptied all that is older.
//
// The next launch may write where the last tile but one lies, by other threads. Each rank therefore sends a closing vector of
// any content to every peer, after its whole block has emptied that tile, and waits for the peers' closing vectors. They
// travel beside the last tile.
//
// Memory order: as in mailbox.cuh. A fence stands between what a thread empties and what it sends then.
#pragma once

#include "mailbox.cuh"

// Exchanges parts of `vecs` vectors among all ranks. send(mailboxes, index, i) stores vector `index` of the parts, which is
// vector i of its tile, and receive(mailboxes, index, i) waits for it. For vector 0 of a tile, each rank stores something
// to every rank that waits, even if its part has no such vector.
template <int N, typename Send, typename Receive>
FORCE_INLINE __device__ void pipeline_mailboxes(const Params& p, Epochs& epochs, int64_t vecs, Send send, Receive receive) {
  constexpr int64_t kSpare = 1;
  const int64_t tile = whole_vecs_in(p.tile_bytes), stride = grid_blocks() * tile, first = block_id() * tile;
  if (first >= vecs) return;
  // Calls f(index, i) for the vectors of the tile at `begin` that this thread handles.
  const auto each_vec = [&](int64_t begin, auto f) {
    for (int64_t i = thread_id(); i < tile && begin + i < vecs; i += block_threads()) f(begin + i, i);
  };
  const bool closes = first + stride < vecs && thread_id() == 0;
  bool ok = !epochs.failed();
  uint32_t epoch = 0;
  for (int64_t begin = first;; begin += stride) {
    const bool ends = begin >= vecs;
    Mailboxes<N> previous(p, epoch, kSpare);
    if (ends) {
      if (!block_all(ok)) return; // all threads have read the first epoch, and have emptied all tiles but the last
      epochs.save();
      if (closes) each_peer<N>(p, [&](uint32_t peer) { previous.send(peer, p.rank, tile, Vec{}); });
    }
    if (begin > first && ok) {
      each_vec(begin - stride, [&](int64_t index, int64_t i) { receive(previous, index, i); });
      if (ends && closes) previous.receive(tile, Vec{}, [](Vec) {}, [](uint32_t, Vec) {});
      ok = !previous.failed();
      if (!ends) release_to_system();
    }
    if (ends) return;
    epoch = epochs.advance();
    const Mailboxes<N> next(p, epoch, kSpare);
    if (ok) each_vec(begin, [&](int64_t index, int64_t i) { send(next, index, i); });
  }
}
