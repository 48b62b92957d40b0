// Allreduce of small float buffers by packets (NCCL's LL protocol): every element travels with a flag in one 64-bit word,
// so that there is no barrier.
//
// Algorithm: 1. store each element to every rank's mailbox, as a packet. 2. wait for each packet of each rank, reduce.
// Buffers:   mailboxes[r] is rank r's: two slots, used in turn, of kSlot packets from each rank; zero before call 1.
// Order:     ranks are reduced from 0 on. Packets are relaxed: a 64-bit word arrives whole. A slot is written again two
//            calls later. By then this rank has packets of the call in between from every rank, and each rank sent
//            those after it had read the slot.
// Caller:    the same count, 1 to kSlot, on all ranks; `call` is 1 in the first call and grows by one each time.
#include "cuda.cuh"

constexpr unsigned kSlot = 8192;
using Packet = unsigned long long; // data below, flag above

inline __device__ void send(Packet* to, Packet packet) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(packet) : "memory");
}

inline __device__ float receive(const Packet* from, unsigned flag) {
  Packet packet;
  do {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(packet) : "l"(from) : "memory");
  } while (packet >> 32 != flag);
  return __builtin_bit_cast(float, (unsigned)packet);
}

template <typename Op>
__device__ void allreduce(float* out, const float* in, Packet** mailboxes, unsigned count, unsigned call, unsigned rank,
                          unsigned world, Op op) {
  const unsigned slot = call % 2 * world * kSlot, step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const Packet packet = (Packet)call << 32 | __builtin_bit_cast(unsigned, in[i]);
    for (unsigned r = 0; r < world; r++) send(mailboxes[r] + slot + rank * kSlot + i, packet);
    const Packet* mine = mailboxes[rank] + slot + i;
    float result = receive(mine, call);
    for (unsigned r = 1; r < world; r++) result = op(result, receive(mine + r * kSlot, call));
    out[i] = result;
  }
}

extern "C" __global__ void packets_sum(float* out, const float* in, Packet** mailboxes, unsigned count, unsigned call,
                                       unsigned rank, unsigned world) {
  allreduce(out, in, mailboxes, count, call, rank, world, [](float a, float b) { return a + b; });
}

extern "C" __global__ void packets_max(float* out, const float* in, Packet** mailboxes, unsigned count, unsigned call,
                                       unsigned rank, unsigned world) {
  allreduce(out, in, mailboxes, count, call, rank, world, [](float a, float b) { return a < b ? b : a; });
}
