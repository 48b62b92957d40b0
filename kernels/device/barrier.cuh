// Barrier between the same-numbered blocks of all ranks.
//
// Algorithm: each block counts its barriers; the count is the epoch. At a barrier, thread r stores the new epoch to
// the block's flag on rank r, then polls this rank's flag from rank r until it has reached the epoch.
//
// Epochs only grow and live in device memory, so that a captured graph can be replayed. Nothing is reset between
// launches. A rank may run one barrier ahead of a peer, never two, so a flag never skips an epoch that a peer still
// waits for. Comparisons are wrap-safe: flags of a rank that is ahead differ by one, or by three where the count
// wraps around, and the comparison leaves room for 2^31.
//
// Memory order: what any thread of the block wrote before the barrier is visible to all threads of the peers' blocks
// after it. The block's threads synchronize (bar), one thread per peer stores the epoch with release at system scope
// and acquires the peer's flag, and the block synchronizes again. Causality order carries the other threads' accesses
// along. At the first barrier of a launch this block has written nothing that peers read: a fence of the storing
// thread then releases what earlier kernels of the stream wrote.
//
// Time-outs: every wait for a peer is bounded by Params::timeout_ns. The first thread whose wait expires records it
// in host memory (Fault). After that the ranks' epochs no longer agree: every later launch of this rank that waits
// returns at its first barrier, so that a stream full of launches ends at once and not one time-out later for each.
//
// The caller gives blocks of at least as many threads as there are ranks.
#pragma once

#include "params.cuh"

FORCE_INLINE __device__ void st_flag_release(uint64_t address, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

FORCE_INLINE __device__ void st_flag_relaxed(uint64_t address, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

// Makes this thread's next relaxed stores release everything before the fence.
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

// Zero that compilers cannot fold. ptxas moves the first use of a loaded value up, and then waits for the load above the
// fence. Adding this zero below the fence makes the use depend on it, so that load and fence overlap.
FORCE_INLINE __device__ uint32_t opaque_zero() {
  uint64_t clock;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
  return clock >> 63; // 0 for the next hundred years
}

// Sets a word from 0 to 1. True for the one thread that did it.
FORCE_INLINE __device__ bool try_claim(uint64_t address) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(before) : "l"(address) : "memory");
  return before == 0;
}

FORCE_INLINE __device__ uint64_t signal_pad(const Params& p, uint32_t rank) { return p.peers[rank]; }

FORCE_INLINE __device__ uint64_t epoch_address(const Params& p) {
  return signal_pad(p, p.rank) + __builtin_offsetof(SignalPad, epoch) + block_id() * sizeof(uint32_t);
}

// The word that is not 0 once a wait of this rank has expired: the thread that set it writes the fault record.
FORCE_INLINE __device__ uint64_t claimed_address(const Params& p) {
  return signal_pad(p, p.rank) + __builtin_offsetof(SignalPad, claimed);
}

// The flag in rank `owner`'s memory that holds the last epoch at which rank `from` arrived.
FORCE_INLINE __device__ uint64_t flag_address(const Params& p, uint32_t owner, uint32_t from) {
  return signal_pad(p, owner) + __builtin_offsetof(SignalPad, flags) +
         (block_id() * kMaxRanks + from) * sizeof(uint32_t);
}

// Writes the fault record for the host. The calling thread has claimed it.
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

// Records an expired wait, unless one is recorded already.
FORCE_INLINE __device__ void record_fault(const Params& p, Phase phase, uint32_t peer, uint32_t expected,
                                          uint32_t seen) {
  if (try_claim(claimed_address(p))) write_fault(p, phase, peer, expected, seen);
}

// Deadline bounds one wait. It reads the clock once in 64 polls.
class Deadline {
 public:
  // The wait may last `timeouts` times Params::timeout_ns, and so many eighths of it more. If the peer itself waits for others,
  // `timeouts` is 2 or more, or there are eighths, so that the peer's wait expires first. Such a wait ends as soon as any other
  // wait of this rank has expired.
  FORCE_INLINE __device__ bool has_passed(const Params& p, uint32_t timeouts = 1, uint32_t eighths = 0) {
    constexpr uint32_t kPollsPerClock = 64;
    if (++polls_ % kPollsPerClock != 0) return false;
    const uint64_t now = global_timer();
    if (began_ == 0) began_ = now;
    if ((timeouts > 1 || eighths > 0) && ld_relaxed(claimed_address(p)) != 0) return true;
    return (int64_t)(now - began_) > (int64_t)(timeouts * p.timeout_ns + eighths * (p.timeout_ns / 8)); // signed: the timer may step back
  }

 private:
  uint32_t polls_ = 0;
  uint64_t began_ = 0;
};

// Polls until the peer has arrived at an epoch. False, after recording it, when the deadline has passed.
FORCE_INLINE __device__ bool wait_for_peer(const Params& p, Phase phase, uint32_t peer, uint32_t epoch,
                                           uint32_t timeouts = 1) {
  const uint64_t flag = flag_address(p, p.rank, peer);
  for (Deadline deadline;;) {
    const uint32_t seen = ld_flag_acquire(flag);
    if ((int32_t)(seen - epoch) >= 0) return true;
    if (deadline.has_passed(p, timeouts)) {
      record_fault(p, phase, peer, epoch, seen);
      return false;
    }
  }
}

// The epoch after this one. Zero is left out, as fresh memory holds it; odd and even epochs alternate.
FORCE_INLINE __device__ uint32_t epoch_after(uint32_t epoch) { return epoch == 0xffffffff ? 2 : epoch + 1; }

// Epochs is one block's count of barriers during a launch, and the barrier itself.
class Epochs {
 public:
  // Waits for the previous kernel of the stream. Addresses are computed before that wait, so that they overlap with it.
  FORCE_INLINE __device__ explicit Epochs(const Params& p) : p_(p) {
    const uint64_t epoch = epoch_address(p), claimed = claimed_address(p);
    compute_here(epoch);
    compute_here(claimed);
    grid_dependency_sync();
    epoch_ = *(Global<const uint32_t>)epoch;
    claimed_ = ld_relaxed(claimed);
  }

  // The epoch of the next barrier.
  FORCE_INLINE __device__ uint32_t next() const { return epoch_after(epoch_); }

  // Counts a barrier that packets or mailboxes make instead of flags.
  FORCE_INLINE __device__ uint32_t advance() { return epoch_ = next(); }

  // Whether a wait of this rank had expired before this launch.
  FORCE_INLINE __device__ bool failed() const { return claimed_ != 0; }

  // The first of several barriers of a launch: the block has written nothing yet that peers read. False, in all threads
  // of the block, when a peer did not arrive in time, now or before this launch: the kernel must then return.
  FORCE_INLINE __device__ bool sync_first(uint32_t world) {
    release_before_first(world);
    arrive(world, st_flag_relaxed);
    return block_all(wait(kStartBarrier, world));
  }

  // sync_first of ranks that wait for each other in the order first, first + 1, ...: of those that do not arrive in time,
  // the first one is named, since the others may wait for it.
  FORCE_INLINE __device__ bool sync_first_in_order(uint32_t world, uint32_t first) {
    release_before_first(world);
    arrive(world, st_flag_relaxed);
    return block_all(!failed() && (thread_id() >= world || wait_in_order(world, first)));
  }

  // A barrier after the first. False as for sync_first.
  FORCE_INLINE __device__ bool sync(Phase phase, uint32_t world) {
    block_all(true);
    arrive(world, st_flag_release);
    return block_all(wait(phase, world));
  }

  // The last barrier of a launch; it saves the epoch while it waits. The kernel must then end, since the block's threads
  // do not synchronize again. Thread r gives `timeouts` for its wait for rank r: see Deadline.
  FORCE_INLINE __device__ void sync_last(uint32_t world, uint32_t timeouts = 1) {
    block_all(true);
    arrive(world, st_flag_release);
    save();
    wait(kEndBarrier, world, timeouts);
  }

  // The only barrier of a launch: sync_first and sync_last in one.
  FORCE_INLINE __device__ void sync_once(Phase phase, uint32_t world) {
    release_before_first(world);
    block_all(true); // all threads have read the epoch
    arrive(world, st_flag_relaxed);
    save();
    wait(phase, world);
  }

  // Stores the epoch for the next launch, by thread 0. The block has synchronized since its threads made their Epochs.
  FORCE_INLINE __device__ void save() const {
    if (thread_id() == 0) *(Global<uint32_t>)epoch_address(p_) = epoch_;
  }

 private:
  // Releases what the stream wrote before this launch. The fence and the loads of the epoch overlap: see opaque_zero.
  FORCE_INLINE __device__ void release_before_first(uint32_t world) {
    uint32_t zero = 0;
    if (thread_id() < world) {
      release_to_system();
      zero = opaque_zero();
    }
    epoch_ += zero;
    claimed_ += zero;
  }

  // Stores the next epoch to this block's flag on every rank, a thread each.
  template <typename Store>
  FORCE_INLINE __device__ void arrive(uint32_t world, Store store) {
    advance();
    if (!failed() && thread_id() < world) store(flag_address(p_, thread_id(), p_.rank), epoch_);
  }

  // Thread r waits for rank r. False when that rank did not arrive in time.
  FORCE_INLINE __device__ bool wait(Phase phase, uint32_t world, uint32_t timeouts = 1) const {
    return !failed() && (thread_id() >= world || wait_for_peer(p_, phase, thread_id(), epoch_, timeouts));
  }

  // Thread r waits for rank r. False, after recording the first rank that did not arrive in time.
  FORCE_INLINE __device__ bool wait_in_order(uint32_t world, uint32_t first) const {
    const auto missed = [&](uint32_t rank) {
      return (int32_t)(ld_flag_acquire(flag_address(p_, p_.rank, rank)) - epoch_) < 0;
    };
    for (Deadline deadline; missed(thread_id());) {
      if (!deadline.has_passed(p_)) continue;
      uint32_t rank = first;
      for (uint32_t k = 1; k < world && !missed(rank); k++) rank = rank + 1 < world ? rank + 1 : 0;
      record_fault(p_, kStartBarrier, rank, epoch_, ld_flag_acquire(flag_address(p_, p_.rank, rank)));
      return false;
    }
    return true;
  }

  const Params& p_;
  uint32_t epoch_;
  uint32_t claimed_; // may differ between threads: another block's wait may expire between their loads
};
