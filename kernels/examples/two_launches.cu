// Allreduce of floats in two launches: a reduce-scatter and an allgather. The kernels have no signals: the caller has all
// ranks meet between them.
//
// Algorithm: 1. all ranks meet. 2. reduce_scatter adds all inputs of this rank's share. 3. all ranks meet. 4. all_gather
//            fetches the other ranks' shares.
// Buffers:   in[r] and out[r] are rank r's, in symmetric memory; out[r] holds share r after step 2.
// Order:     ranks are added from 0 on. The launches and what is between them order all accesses.
// Caller:    steps 1 and 3; and that no rank writes its buffers before all ranks have ended step 4.
#include "cuda.cuh"

// A share is that of the rank of its number; the last ones may be shorter, or empty.
struct Share {
  unsigned begin, end;
  __device__ Share(unsigned count, unsigned rank, unsigned world) {
    const unsigned most = (count + world - 1) / world;
    begin = rank * most < count ? rank * most : count;
    end = begin + most < count ? begin + most : count;
  }
};

extern "C" __global__ void reduce_scatter(const float* const* in, float* out, unsigned count, unsigned rank,
                                          unsigned world) {
  const Share own(count, rank, world);
  for (unsigned i = own.begin + blockIdx.x * blockDim.x + threadIdx.x; i < own.end; i += gridDim.x * blockDim.x) {
    float sum = in[0][i];
    for (unsigned r = 1; r < world; r++) sum += in[r][i];
    out[i] = sum;
  }
}

extern "C" __global__ void all_gather(float* const* out, unsigned count, unsigned rank, unsigned world) {
  for (unsigned distance = 1; distance < world; distance++) {
    const unsigned r = (rank + distance) % world;
    const Share share(count, r, world);
    for (unsigned i = share.begin + blockIdx.x * blockDim.x + threadIdx.x; i < share.end; i += gridDim.x * blockDim.x)
      out[rank][i] = out[r][i];
  }
}
