// Kernels that check one link: one GPU writes a pattern to the memory of another, either GPU compares it, and one thread
// walks a chain of addresses through it.
//
// Algorithm:
//   probe_write  writes the pattern: word i is a hash of a key and i, so that a word that was lost, stale or misplaced
//                differs. The hash is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom
//                number generators, 2014).
//   probe_check  counts the words that differ from the pattern.
//   probe_ring   cuts the memory into lines, each of which begins with the offset of the next. The lines form one ring,
//                since their number is a power of two and the stride is odd.
//   probe_walk   loads the offsets around the ring, one after the other, and takes the time.
//
// Buffers: memory of this GPU or of a peer, aligned to 16 bytes and a multiple of 16 bytes long; a Report in this GPU's
// memory.
//
// Memory order: a kernel relies on what was complete before its launch, and nothing else. The caller waits for the
// writer's kernel and informs the reader's process, which then launches its own. Each load of the walk goes to the
// memory's owner, at system scope.
//
// The caller gives probe_write, probe_check and probe_ring any grid of any blocks, and probe_walk one thread. sm_80 and up.

#include "../device/vector.cuh"

// Probe is a kernel's parameter; probe.Params mirrors it.
struct Probe {
  uint64_t memory; // of this GPU, or of a peer
  uint64_t report; // a Report, in this GPU's memory
  int64_t count;   // words of the pattern, or lines of the ring
  uint64_t key;    // of the pattern
};

// Report is what a kernel found; probe.Report mirrors it.
struct Report {
  uint64_t wrong;       // words that differ from the pattern; of a walk, 1 if it did not end where it began
  uint64_t first;       // the first of them, if any
  uint64_t nanoseconds; // of one walk around the ring
};

constexpr uint64_t kLineBytes = 256;
constexpr uint64_t kStride = 167; // lines

FORCE_INLINE __device__ uint64_t pattern(uint64_t key, int64_t i) {
  uint64_t x = key + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

FORCE_INLINE __device__ uint32_t global_thread() { return block_id() * block_threads() + thread_id(); }

extern "C" __global__ void probe_write(const Probe p) {
  const int64_t step = grid_blocks() * block_threads();
  for (int64_t v = global_thread(); 2 * v < p.count; v += step) {
    const uint64_t low = pattern(p.key, 2 * v), high = pattern(p.key, 2 * v + 1);
    st(p.memory + v * kVecBytes,
       Vec{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)});
  }
}

FORCE_INLINE __device__ void report_wrong(uint64_t report, uint64_t count, uint64_t first) {
  uint64_t before;
  asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(report + __builtin_offsetof(Report, wrong)), "l"(count)
               : "memory");
  asm volatile("atom.relaxed.gpu.global.min.u64 %0, [%1], %2;"
               : "=l"(before)
               : "l"(report + __builtin_offsetof(Report, first)), "l"(first)
               : "memory");
}

// The report must be zero, except for `first`, which must be the largest number.
extern "C" __global__ void probe_check(const Probe p) {
  const int64_t step = grid_blocks() * block_threads();
  uint64_t count = 0, first = ~0ull;
  const auto compare = [&](int64_t i, uint64_t got) {
    if (got == pattern(p.key, i)) return;
    if (count++ == 0) first = i;
  };
  for (int64_t v = global_thread(); 2 * v < p.count; v += step) {
    const Vec got = ld(p.memory + v * kVecBytes);
    compare(2 * v, pair(got.x, got.y));
    compare(2 * v + 1, pair(got.z, got.w));
  }
  if (count != 0) report_wrong(p.report, count, first);
}

extern "C" __global__ void probe_ring(const Probe p) {
  const int64_t step = grid_blocks() * block_threads();
  for (int64_t i = global_thread(); i < p.count; i += step)
    *(Global<uint64_t>)(p.memory + i * kLineBytes) = (i + kStride) % p.count * kLineBytes;
}

FORCE_INLINE __device__ uint64_t ld_relaxed_system(uint64_t address) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

// Walks around the ring twice and takes the time of the second walk: the first has filled the address translation
// caches. The last load may still be in flight when the clock is read, which is little of a whole ring. A wrong offset,
// from a broken link, does not lead out of the ring.
extern "C" __global__ void probe_walk(const Probe p) {
  const uint64_t lines = (p.count - 1) * kLineBytes; // the bits that offsets have
  uint64_t at = 0, began = 0;
#pragma nounroll
  for (int lap = 0; lap < 2; lap++) {
    began = global_timer();
#pragma nounroll
    for (int64_t i = 0; i < p.count; i++) at = ld_relaxed_system(p.memory + at) & lines;
  }
  const uint64_t ended = global_timer();
  auto* report = (Global<Report>)p.report;
  report->wrong = at != 0;
  report->nanoseconds = ended - began;
}
