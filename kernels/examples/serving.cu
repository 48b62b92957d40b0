// Two allreduces of a serving framework's kind: inputs in symmetric memory, tables by value, one region for signals and
// scratch. Compiled for a type and a number of ranks.
//
// Algorithm: serving_onestage: barrier; add all ranks' inputs; barrier.
//            serving_twostage: barrier; add all ranks' inputs of this rank's share into the scratch; barrier; fetch all
//            shares. There is no third barrier: before a rank writes its scratch again, it meets all others.
// Buffers:   a region is a Header and the scratch, a share of packs. Its header is zero before the first call.
// Order:     ranks are added from 0 on. A block fetches what the blocks of its number have written.
// Caller:    the same grid and size on all ranks; at most kBlocks blocks, all resident; packs are multiples of 16 bytes.
#include "flags.cuh"

constexpr int kRanks = 8, kBlocks = 36;

struct alignas(128) Header {
  unsigned barriers[kBlocks]; // that each block has passed
  unsigned flags[kBlocks][kRanks];
};

template <typename T>
struct alignas(16) Pack {
  T at[16 / sizeof(T)];
};

template <typename T>
struct Inputs {
  const Pack<T>* of[kRanks];
};

struct Regions {
  Header* of[kRanks];
};

inline __device__ void meet(const Regions& regions, int rank, int world, unsigned barrier) {
  __syncthreads();
  if (const int peer = threadIdx.x; peer < world) {
    store_release(&regions.of[peer]->flags[blockIdx.x][rank], barrier);
    wait_for(&regions.of[rank]->flags[blockIdx.x][peer], barrier);
  }
  __syncthreads();
}

template <typename T, int kWorld>
__device__ Pack<T> add(const Inputs<T>& inputs, int i) {
  Pack<T> sum = inputs.of[0][i];
  for (int r = 1; r < kWorld; r++) {
    const Pack<T> pack = inputs.of[r][i];
    for (int e = 0; e < int(16 / sizeof(T)); e++) sum.at[e] += pack.at[e];
  }
  return sum;
}

template <typename T, int kWorld>
__global__ void __launch_bounds__(512) serving_onestage(const __grid_constant__ Inputs<T> inputs,
                                                        const __grid_constant__ Regions regions, Pack<T>* out, int rank,
                                                        int packs) {
  unsigned& barriers = regions.of[rank]->barriers[blockIdx.x];
  const unsigned passed = barriers;
  meet(regions, rank, kWorld, passed + 1);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += gridDim.x * blockDim.x)
    out[i] = add<T, kWorld>(inputs, i);
  meet(regions, rank, kWorld, passed + 2);
  if (threadIdx.x == 0) barriers = passed + 2;
}

template <typename T, int kWorld>
__global__ void __launch_bounds__(512) serving_twostage(const __grid_constant__ Inputs<T> inputs,
                                                        const __grid_constant__ Regions regions, Pack<T>* out, int rank,
                                                        int packs) {
  unsigned& barriers = regions.of[rank]->barriers[blockIdx.x];
  const unsigned passed = barriers;
  const int share = (packs + kWorld - 1) / kWorld;
  const auto scratch = [&](int r) { return (Pack<T>*)(regions.of[r] + 1); };
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  meet(regions, rank, kWorld, passed + 1);
  for (int i = first; i < share && rank * share + i < packs; i += step)
    scratch(rank)[i] = add<T, kWorld>(inputs, rank * share + i);
  meet(regions, rank, kWorld, passed + 2);
  for (int r = 0; r < kWorld; r++)
    for (int i = first; i < share && r * share + i < packs; i += step) out[r * share + i] = scratch(r)[i];
  if (threadIdx.x == 0) barriers = passed + 2;
}

#define INSTANTIATE(T, WORLD)                                                                              \
  template __global__ void serving_onestage<T, WORLD>(Inputs<T>, Regions, Pack<T>*, int, int); \
  template __global__ void serving_twostage<T, WORLD>(Inputs<T>, Regions, Pack<T>*, int, int);
INSTANTIATE(float, 2)
INSTANTIATE(float, 4)
INSTANTIATE(int, 2)
INSTANTIATE(int, 4)
