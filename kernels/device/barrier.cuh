// Barrier between the same-numbered blocks of all ranks.
//
// Epochs count barriers and only grow; they live in device memory, so that a
// captured graph can be replayed, and are compared wrap-safe. A rank may run
// one barrier ahead of a peer, never two, so a flag never skips an epoch that
// somebody still waits for. Nothing is reset between launches.
//
// Memory order: what any thread of the block wrote before the barrier is
// visible to all threads of the peers' blocks after it. The block's threads
// meet (bar), one thread per peer stores the epoch with release at system
// scope and acquires the peer's, and the block meets again; causality order
// carries the other threads' accesses along. At the first barrier of a launch there are
// none to carry: a fence of the thread that stores releases what the stream wrote before.
//
// The caller gives blocks of at least as many threads as there are ranks.
//
// The flags of a rank that is one barrier ahead differ by one, or where the
// count wraps around by three: the comparison leaves room for 2^31.
//
// Once a wait has expired, the ranks' epochs no longer agree: every later launch
// on this rank that waits returns at its first barrier, so that a stream full of launches
// ends at once and not a timeout later for each of them.
#pragma once

#include "params.cuh"

FORCE_INLINE __device__ void st_flag_release(uint64_t address, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

FORCE_INLINE __device__ void st_flag_relaxed(uint64_t address, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

// Has the relaxed stores that this thread makes next release what is before it.
FORCE_INLINE __device__ void release_to_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

FORCE_INLINE __device__ uint32_t ld_flag_acquire(uint64_t address) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

FORCE_INLINE __device__ uint32_t ld_relaxed(uint64_t address) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

// Zero, which the compiler cannot know, and has not before here. The driver's works with what was loaded as early as it
// can, for which it waits in front of a fence; what zero is added to behind the fence it leaves on its way.
FORCE_INLINE __device__ uint32_t zero_from_here() {
  uint64_t clock;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
  return clock >> 63; // in a hundred years
}

FORCE_INLINE __device__ bool claim(uint64_t address) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(before) : "l"(address) : "memory");
  return before == 0;
}

FORCE_INLINE __device__ uint64_t signal_pad(const Params& p, uint32_t rank) { return p.peers[rank]; }

FORCE_INLINE __device__ uint64_t epoch_address(const Params& p) {
  return signal_pad(p, p.rank) + __builtin_offsetof(SignalPad, epoch) + block_id() * sizeof(uint32_t);
}

// Where this rank notes that a wait has expired, and who records it.
FORCE_INLINE __device__ uint64_t claimed_address(const Params& p) {
  return signal_pad(p, p.rank) + __builtin_offsetof(SignalPad, claimed);
}

// The flag on rank `owner` by which `from` announces its arrivals.
FORCE_INLINE __device__ uint64_t flag_address(const Params& p, uint32_t owner, uint32_t from) {
  return signal_pad(p, owner) + __builtin_offsetof(SignalPad, flags) +
         (block_id() * kMaxRanks + from) * sizeof(uint32_t);
}

// Writes which wait expired, for the host to read. The thread has claimed the record.
FORCE_INLINE __device__ void write_fault(const Params& p, Phase phase, uint32_t peer, uint32_t expected, uint32_t seen) {
  auto* fault = (Global<volatile Fault>)p.fault;
  fault->rank = p.rank;
  fault->phase = phase;
  fault->peer = peer;
  fault->block = block_id();
  fault->expected = expected;
  fault->seen = seen;
  st_flag_release(p.fault + __builtin_offsetof(Fault, state), 1);
}

// Records which wait expired, if none has before.
FORCE_INLINE __device__ void record_fault(const Params& p, Phase phase, uint32_t peer, uint32_t expected,
                                          uint32_t seen) {
  if (claim(claimed_address(p))) write_fault(p, phase, peer, expected, seen);
}

// Patience says when a wait has lasted too long. It looks at the clock once in
// a while only.
class Patience {
 public:
  // A wait that rests on as many of the peers' as `steps` says lasts longer, so that theirs expire first, and ends when
  // any other of this rank has expired.
  FORCE_INLINE __device__ bool is_over(const Params& p, uint32_t steps = 1) {
    constexpr uint32_t kPollsPerClock = 64;
    if (++polls_ % kPollsPerClock != 0) return false;
    const uint64_t now = global_timer();
    if (began_ == 0) began_ = now;
    if (steps > 1 && ld_relaxed(claimed_address(p)) != 0) return true;
    return (int64_t)(now - began_) > (int64_t)(steps * p.timeout_ns); // the timer may step back
  }

 private:
  uint32_t polls_ = 0;
  uint64_t began_ = 0;
};

// Polls until the peer has arrived at epoch. False when the time is up, which Patience decides.
FORCE_INLINE __device__ bool await_peer(const Params& p, Phase phase, uint32_t peer, uint32_t epoch,
                                        uint32_t steps = 1) {
  const uint64_t flag = flag_address(p, p.rank, peer);
  for (Patience patience;;) {
    const uint32_t seen = ld_flag_acquire(flag);
    if ((int32_t)(seen - epoch) >= 0) return true;
    if (patience.is_over(p, steps)) {
      record_fault(p, phase, peer, epoch, seen);
      return false;
    }
  }
}

// The epoch after this one. None is zero, which fresh memory holds; odd and even
// ones alternate.
FORCE_INLINE __device__ uint32_t epoch_after(uint32_t epoch) { return epoch == 0xffffffff ? 2 : epoch + 1; }

// Epochs is a block's place in the sequence of barriers, from its launch on.
class Epochs {
 public:
  // Waits for the kernel in front of this one. What is computed before runs beside that.
  FORCE_INLINE __device__ explicit Epochs(const Params& p) : p_(p) {
    const uint64_t epoch = epoch_address(p), claimed = claimed_address(p);
    compute_here(epoch);
    compute_here(claimed);
    follow_previous_grid();
    epoch_ = *(Global<const uint32_t>)epoch;
    claimed_ = ld_relaxed(claimed);
  }

  // The epoch of the next barrier.
  FORCE_INLINE __device__ uint32_t next() const { return epoch_after(epoch_); }

  // Takes a step that is a barrier by other means than meet.
  FORCE_INLINE __device__ uint32_t advance() { return epoch_ = next(); }

  // Takes so many at once, which the block tells of, and awaits, by itself. Zero may be one of them: no packet
  // carries it.
  FORCE_INLINE __device__ void skip(uint32_t steps) { epoch_ += steps; }

  FORCE_INLINE __device__ bool broken() const { return claimed_ != 0; }

  // Meets the same block of all ranks for the first of several times: nothing that
  // peers read has been written in this launch. False, in all threads of the block, when
  // a peer did not come in time, now or before this launch: the kernel must then return.
  FORCE_INLINE __device__ bool start(uint32_t world) {
    release_early(world);
    announce(world, st_flag_relaxed);
    return block_all(await(kStartBarrier, world));
  }

  // Meets it again.
  FORCE_INLINE __device__ bool meet(Phase phase, uint32_t world) {
    block_all(true);
    announce(world, st_flag_release);
    return block_all(await(phase, world));
  }

  // Meets it for the last time, and keeps the count for the next launch meanwhile. The
  // kernel must then end: its threads do not meet again. On how many waits its own rests, each thread
  // says of the rank of its number.
  FORCE_INLINE __device__ void finish(uint32_t world, uint32_t steps = 1) {
    block_all(true);
    announce(world, st_flag_release);
    save();
    await(kEndBarrier, world, steps);
  }

  // Is start and finish in one.
  FORCE_INLINE __device__ void once(Phase phase, uint32_t world) {
    release_early(world);
    block_all(true); // all have read the count
    announce(world, st_flag_relaxed);
    save();
    await(phase, world);
  }

  // Keeps the count for the next launch, by thread 0. All threads have met since they
  // made their Epochs.
  FORCE_INLINE __device__ void save() const {
    if (thread_id() == 0) *(Global<uint32_t>)epoch_address(p_) = epoch_;
  }

 private:
  // Releases what the stream wrote before this launch while the count is still on its
  // way from memory, which neither waits for the other.
  FORCE_INLINE __device__ void release_early(uint32_t world) {
    uint32_t zero = 0;
    if (thread_id() < world) {
      release_to_system();
      zero = zero_from_here();
    }
    epoch_ += zero;
    claimed_ += zero;
  }

  // Tells all ranks that this block has come to the next barrier, a thread each.
  template <typename Store>
  FORCE_INLINE __device__ void announce(uint32_t world, Store store) {
    advance();
    if (!broken() && thread_id() < world) store(flag_address(p_, thread_id(), p_.rank), epoch_);
  }

  // Waits for the rank of this thread's number. False when it did not come.
  FORCE_INLINE __device__ bool await(Phase phase, uint32_t world, uint32_t steps = 1) const {
    return !broken() && (thread_id() >= world || await_peer(p_, phase, thread_id(), epoch_, steps));
  }

  const Params& p_;
  uint32_t epoch_;
  uint32_t claimed_; // may differ between threads where another block's wait expires meanwhile
};
