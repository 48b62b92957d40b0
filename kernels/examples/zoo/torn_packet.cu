// Met in packets of 16 bytes, three words of data and a flag, by volatile accesses: PTX promises that each word arrives
// whole, and no more. A GPU makes two accesses of 8 bytes of it, and the flag may come before the first two words.
//
// Mended: packets of 8 bytes with a word of data and a flag, which all current GPUs store and load at once.
#include "sum.cuh"

constexpr int kMost = 4096; // floats of a call

#ifdef MENDED
constexpr int kWords = 1; // of data in a packet
inline __device__ void send(unsigned* packet, const unsigned* data, unsigned flag) {
  asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(packet), "r"(data[0]), "r"(flag) : "memory");
}
inline __device__ unsigned poll(const unsigned* packet, unsigned* data) {
  unsigned flag;
  asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(data[0]), "=r"(flag) : "l"(packet) : "memory");
  return flag;
}
#else
constexpr int kWords = 3;
inline __device__ void send(unsigned* packet, const unsigned* data, unsigned flag) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(packet), "r"(data[0]), "r"(data[1]),
               "r"(data[2]), "r"(flag)
               : "memory");
}
inline __device__ unsigned poll(const unsigned* packet, unsigned* data) {
  unsigned flag;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(data[0]), "=r"(data[1]), "=r"(data[2]), "=r"(flag)
               : "l"(packet)
               : "memory");
  return flag;
}
#endif

// Calls use two slots in turn; the flag is the number of the call.
extern "C" __global__ void torn_packet(float* output, const float* input, unsigned* const* mailboxes, int count,
                                       unsigned rank, unsigned world, unsigned call) {
  const auto packet = [&](unsigned at, unsigned from, int i) {
    return mailboxes[at] + ((call % 2 * world + from) * kMost + i) * (kWords + 1);
  };
  const int packets = (count + kWords - 1) / kWords;
  for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < packets; p += gridDim.x * blockDim.x) {
    unsigned data[kWords];
    for (int w = 0; w < kWords; w++) {
      const int i = p * kWords + w;
      data[w] = __builtin_bit_cast(unsigned, i < count ? input[i] : 0.0f);
    }
    for (unsigned r = 0; r < world; r++) send(packet(r, rank, p), data, call + 1);
    float sums[kWords] = {};
    for (unsigned r = 0; r < world; r++) {
      while (poll(packet(rank, r, p), data) != call + 1) {
      }
      for (int w = 0; w < kWords; w++) sums[w] += __builtin_bit_cast(float, data[w]);
    }
    for (int w = 0; w < kWords; w++)
      if (p * kWords + w < count) output[p * kWords + w] = sums[w];
  }
}
