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
//	page             the same of 256 bytes: one for all of them, where all of them are accessed at once
//	life             the begin and the end of memory, and reads of what nobody wrote
//	copy             asynchronous accesses, and who waits for them
//	seen             their clocks, one for each space
//	proxy            what asynchronous accesses see behind a proxy fence
//	lanes            the order between the lanes of a warp, by both models
//	lanes_event      which lanes have accessed which addresses, and races for want of a bar.warp.sync
//	earlier          accesses in front of the last write that it does not stand for
//	diagnose         what would order two accesses
//	diagnose_early   flags that come too early to order them
//	diagnose_interval  what a warp does between two barriers of its block
//	finding          the report: two accesses, and why nothing orders them
//	hardware         what current GPUs do beyond PTX, and vectors that may be torn
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
// # Lanes
//
// A warp is one thread of the clocks, and its lanes are threads of their own: since Volta, nothing but program order
// and barriers orders them. A warp counts steps, each event has its step, and each access its lanes and their
// addresses. Of two lanes, what one did in a step happens before what the other one does after both have met at a
// bar.warp.sync that names both, or through a third lane likewise. The barriers of the block and of the cluster, and
// waits for an mbarrier, count as meetings of all lanes.
//
// A release is by the lanes that execute it. It covers what they have done and what they know; of a fence only the
// lanes count that write behind it. An acquire is for the lanes that execute it, until they meet others. Where only
// another lane is ordered, the cause is [UnorderedLanes], and [Finding.Lanes] says where a bar.warp.sync is missing.
//
// Lanes that store to the same place by one instruction do not race, because compilers let all lanes store one value.
//
// # Asynchronous accesses
//
// A bulk copy, a small copy (cp.async), a wgmma, and a tcgen05.mma or cp are threads of their own, which begin at their
// issue: a [Copy]. Of tcgen05 only reads of shared memory are seen, and no accesses to tensor memory.
// What their issuer does next is not ordered with them until it waits for their end; without the wait the cause is
// [NotWaitedFor]. Bulk copies and wgmma access memory through the async proxy. They are ordered behind a write
// through the generic proxy only if a proxy fence is on the way: a third vector clock of each thread holds what
// happens before such a fence, for each [Space]. Without the fence the cause is [WrongProxy]. Behind the end of a
// copy, and behind the begin and the end of a grid, no fence is needed.
//
// A read by .nc is ordered behind the writes before its grid alone; else the cause is [ReadByNC].
//
// # Two models
//
// A finding says what PTX forbids. Current GPUs do more than PTX promises, and protocols that work everywhere rest on
// it. [Finding.Hardware] marks the races that they do not have; so one run judges both models. The caller reports such
// a race as a note where it asks for the model of PTX, and not at all where it asks for that of the hardware.
//
// PTX is chapter 8, "Memory Consistency Model", of the "Parallel Thread Execution ISA". For what follows, it says:
//
//   - causality needs a release pattern and an acquire pattern; a relaxed or volatile write that is read orders
//     nothing else (sections on release and acquire patterns, and on causality order)
//
//   - a vector access is a set of scalar accesses, one of each element, in no order (section on vector data types)
//
//   - bar.warp.sync orders the accesses to memory of the threads that take part (its section). The sections on
//     shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, mma and ldmatrix promise that threads wait, and no
//     order of memory.
//
// The hardware's model adds two orders, and no other:
//
//   - All .sync and .aligned instructions at which lanes meet order these lanes as bar.warp.sync does. The lanes are
//     converged behind one, and the accesses of a converged warp are issued in program order. Reductions by shuffles
//     rest on that.
//   - A read happens before a write, if the reading thread arrives at a barrier behind the read, somebody behind that
//     barrier makes a strong write, another thread polls that write with a morally strong read, and the write follows
//     that read; and so on, through several polls. So a buffer is written again when a relaxed or volatile flag says
//     that its readers are done: the end of many allreduces, and the slots of LL and of mailboxes.
//
// The latter rests on three facts. Loads have returned their values when their block's barrier lets the threads go
// on. A store is not performed before the branch that decides whether it is executed, so a store behind a polling
// loop comes after the poll. And neither the hardware nor ptxas moves stores up across such a loop.
//
// It does not add what would be wrong:
//
//   - A read behind a relaxed poll is not ordered. ptxas moves loads above a polling loop, and a load may hit a line
//     that its multiprocessor has read before. An acquire prevents both.
//   - A write before a relaxed flag is not ordered: stores to two places arrive in any order.
//   - A read is not ordered before the same thread's relaxed flag without a barrier, unless the read is strong itself:
//     then it does not race. Whether a value was used before the flag is not followed.
//   - Scopes count as in PTX.
//
// Strong accesses to the same bytes never race, so packets and mailboxes, which are read and written by strong
// accesses alone, need no order here. What they need is that a word arrives whole. [Detector.Tears] lists vectors
// that may not: strong loads that read elements of another thread's vector store, which nothing orders before them.
// Under PTX each element may come from another store. Of GPUs we have measured one: an H200, 264 blocks of 256
// threads, 200,000 accesses each, readers and writers on different multiprocessors of one GPU, in device memory and
// in pinned host memory.
//
//	store                load                  torn
//	st.volatile.v2.u32   ld.volatile.v2.u32    never
//	st.volatile.v4.u32   ld.volatile.v4.u32    17,000 to 129,000 times
//	st.weak.v4.u32       ld.volatile.v4.u32    never
//	st.relaxed.v4.u32    ld.relaxed.v4.u32     never
//
// So the model of the hardware is that a volatile store of 16 bytes is two of 8, and that all other aligned stores and
// loads of up to 16 bytes are whole. Over NVLink it was not measured. A vector of which the code behind the load tests
// an element in each piece, as LL and mailboxes do, may arrive in pieces; the caller does not report it.
//
// # Clocks
//
// A thread is a warp, a stream, or the host code of a rank. It has a vector clock: for each thread the time up to
// which what that thread did happens before. A time ends at a release. Of each element of memory the detector keeps
// the last write and the reads since then, as threads with their times (FastTrack: Flanagan and Freund, PLDI 2009). A
// second vector clock takes every scope for .sys. What is unordered by the first clock and ordered by the second has
// the cause [NarrowScope], with the two operations whose scopes do not reach. Both clocks are one vector while no
// scope was too narrow. The vector of a thread is shared, and not changed: its own time is kept apart, and the
// threads that leave a barrier have one vector.
//
// # Limits
//
//   - Copies, waits for copies and mbarriers are of the whole warp, not of the lanes that execute them.
//   - Lanes that acquire know together what each of them has acquired. Who knows a release of a warp is taken to know
//     those before it, by whichever lane. Of the reads of a warp since the last write, the last one is kept, whichever
//     lane made it.
//   - An order of two lanes of a warp that another thread passes on is not followed: their accesses are reported.
//   - Two lanes that store different values to one place by one instruction are not noticed.
//   - Of an element are kept the last write, one read of each thread since then with the same strength, and earlier
//     accesses with narrower scopes. Of three accesses that race with one another, one pair may go unnoticed. So may a
//     weak read behind an own strong write, if another thread wrote before it by a strong write that nothing orders.
//   - A release store whose value another thread has overwritten is forgotten, also where its own thread writes
//     there again.
//   - An atomic compare-and-swap that fails counts as an atomic that writes.
//   - fence.sc counts as fence.acq_rel. Of two fence.sc in each other's scope PTX has the first synchronize with the
//     second, and that order gives no edge here. So nothing goes unnoticed, and there is a false alarm where values
//     prove which fence was first and no acquire follows, as in Dekker's algorithm with a message behind it. Edges in
//     the order of a schedule would be wrong: either fence may be first, so they would hide races that a fence in
//     front of a poll leaves. TestFencesInOrder of package litmus shows both.
//   - A later write by another thread that happens after a read by .nc does not race with it, though PTX wants the
//     memory to be read-only until the grid has ended.
//   - A read through the generic proxy that happens before an asynchronous write does not race with it without a proxy
//     fence: it has its value.
//   - What a small copy has written needs no proxy fence behind its end, though it is written by the generic proxy.
//   - The copies of a channel end in order: who waits for one has waited for the ones before it.
package race
