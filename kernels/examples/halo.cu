// One step of a stencil on a ring of cells that is spread over the ranks: a cell becomes the sum of itself and its two
// neighbors. Cells at the ends of a rank's part have neighbors on other ranks: the halo.
//
// Algorithm: 1. store this rank's first and last cell to its neighbors' halos. 2. tell them. 3. wait for both
//            neighbors. 4. compute.
// Buffers:   halos[r] is rank r's: the cell before its part and the cell after it. flags[r] are rank r's: a word for
//            either side, zero before the first call.
// Order:     one thread releases a cell with its flag. A halo is used again two calls later: this rank's neighbors have
//            told it of the call in between, which they did after they had read the halo.
// Caller:    at least one cell on each rank; `call` is 1 in the first call and grows by one each time; calls use two
//            halos in turn.
#include "flags.cuh"

constexpr int kBefore = 0, kAfter = 1;

extern "C" __global__ void halo(float* next, const float* cells, float* const* halos, unsigned* const* flags, int count,
                                unsigned rank, unsigned world, unsigned call) {
  const unsigned before = (rank + world - 1) % world, after = (rank + 1) % world;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    halos[before][kAfter] = cells[0];
    halos[after][kBefore] = cells[count - 1];
    store_release(&flags[before][kAfter], call);
    store_release(&flags[after][kBefore], call);
  }
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    if (i == 0) wait_for(&flags[rank][kBefore], call);
    if (i == count - 1) wait_for(&flags[rank][kAfter], call);
    const float left = i == 0 ? halos[rank][kBefore] : cells[i - 1];
    const float right = i == count - 1 ? halos[rank][kAfter] : cells[i + 1];
    next[i] = left + cells[i] + right;
  }
}

// The truth, on one device that has all ranks' cells.
extern "C" __global__ void halo_reference(float* next, const float* const* cells, int count, unsigned rank,
                                          unsigned world) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const auto cell = [&](int at) { // counted from this rank's first cell, around the ring
    const int all = count * (int)world, global = ((int)rank * count + at + all) % all;
    return cells[global / count][global % count];
  };
  next[i] = cell(i - 1) + cell(i) + cell(i + 1);
}
