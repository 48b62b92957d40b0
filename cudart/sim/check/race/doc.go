// Package race finds data races between threads of several GPUs, by the happens-before order that the PTX memory
// model calls causality ("Parallel Thread Execution ISA", chapter 8).
//
// The files:
//
//	operation        what threads do, and the scopes of the memory model
//	clock            vector clocks, and what a thread knows
//	detector         threads, and the order that is no access: joins, moments, fences
//	barrier, cluster barriers, behind which threads share their past, and relaxed arrivals of a cluster
//	message          release and acquire patterns
//	observation      a write happens before what is behind a read that observes it
//	shadow           the last accesses to every byte
//	life             the begin and the end of memory, and reads of what nobody wrote
//	finding          the report: two accesses, and why nothing orders them
//
// # Model
//
// Two accesses race when they overlap, one of them writes, they come from different threads, neither happens before
// the other, and they are not morally strong. Accesses are morally strong when both are strong, the scope of each
// includes the thread of the other, and both have the same bytes. Relaxed, acquire, release, volatile and atomic
// accesses are strong; volatile is relaxed at system scope. The .cluster scope
// includes the blocks of one cluster of a grid; a block without a cluster is one of its own.
//
// The caller performs all operations one after the other, and memory is in order: a read observes the last write.
// A race is seen also where the values happened to be right, because the order is judged and not the values.
// What depends on the schedule is who observes which flag. Other schedules may have other races.
//
// The order has these sources:
//
//   - program order of a thread, and [Detector.Join] for streams, launches, events and hosts
//   - barriers of a block or a cluster: each thread that waits knows what all that arrived knew
//   - a release pattern that an acquire pattern observes. A release pattern is a release, or a fence with a later
//     strong write; an acquire pattern an acquire, or a strong read with a later fence. Atomic operations pass on
//     what the write before them released. The scopes of releasing and acquiring operation must include each other's
//     thread, and so must those of the write and the read.
//
// # Clocks
//
// A thread is a warp, a stream, or the host code of a rank. It has a vector clock: for each thread the time up to which
// what that thread did happens before. A time ends at a release. Of each element of memory the detector keeps the
// last write and the reads since then, as threads with their times (FastTrack: Flanagan and Freund, PLDI 2009).
// A second vector clock takes every scope for .sys. What is unordered by the first clock and ordered by the second
// has the cause [NarrowScope], with the two operations whose scopes do not reach. Both clocks are one vector while no
// scope was too narrow. The vector of a thread is shared, and not changed: its own time is kept apart, and the threads
// that leave a barrier have one vector.
//
// # Limits
//
//   - The lanes of a warp are one thread: no race within a warp is found, and a release by one lane releases what the
//     other lanes have done. Threads that have ended keep their place in the clocks.
//   - Only the last write to an element is kept, and one read of each thread since then with the same strength. Of
//     three accesses that race with one another, one pair may go unnoticed.
//   - A release store whose value another thread has overwritten is forgotten, also where its own thread writes
//     there again.
//   - fence.sc counts as fence.acq_rel. An atomic compare-and-swap that fails counts as an atomic that writes.
//   - Accesses of other proxies, such as bulk copies, and loads by .nc are not described by [Operation]. The caller
//     has to say that the check is incomplete.
package race
