// Package check runs the kernels of several ranks in one process, under a schedule that a seed decides, and reports
// data races between GPUs with both lines. No GPU and no second process take part.
//
// The packages below it know nothing of a run: race judges the order of accesses, finding has what was found and how it
// reads, schedule has schedules as values, and partialorder chooses those that differ. The files here:
//
//	checker, rank, keep    the entry: a task for each rank, run once for each seed
//	explore*, shrink       many schedules of one task, what they found together, and shorter schedules for that
//	behavior              what tells schedules apart
//	report, findings       what was found
//
// Who runs next:
//
//	schedule, host         turns; the host code of a rank is a coroutine
//	actor, kernel          what is chosen: hosts, streams, and the warps of kernels
//	strategy*              ways to choose: random, PCT, late, bounded preemption, and a schedule that is replayed
//	exhaustive             all schedules of a small task
//	decisions              what was chosen
//
// The machine:
//
//	device, module         cudart.Device on one address space for all ranks
//	programs               compiled kernels, which checkers share
//	memory, heap           allocations, by host code and by malloc in kernels, with names for people
//	multicast              addresses that stand for the memory of all ranks
//	stream, command        queues of work: copies and fills
//	event, value           marks of streams; WriteValue and WaitValue
//	capture, graph         recorded work, and its replays
//	launch, grids, blocks, kernels  kernels, and those that run at once by programmatic dependent launch
//	occupancy              how many blocks of a grid are resident
//	tensormap              maps for tensor copies
//
// What kernels do:
//
//	observer*, prior       what the warps of a grid do, told to package race
//	retired                places of warps that have ended, in the clocks
//	doer                   warps and launches, as the analyses name them
//	advise*, diagnose*     what would order two accesses
//	model, torn            what PTX promises and what GPUs do; vectors that may be torn
//	bounds, faults, notes  accesses that belong to no buffer, and misaligned ones
//	life, uninitialized    accesses before the begin or after the end of memory, and reads of what nobody wrote
//	deadlock, poll         when nothing can go on
//	waitgraph*, mbarrier_wait  who waits for whom then, and why
//	divergence             barriers that are never complete
//	signal*                words by which threads signal: stale flags and lost signals
//	result, taskfinding    results that depend on the schedule, and wrong ones
//	origins*               where a wrong value comes from
//
// # Model
//
// Exactly one thing happens at any time: the host code of one rank runs until it waits, a stream makes a step, or a
// warp has a turn of some instructions. A [Strategy] chooses among all that do not wait. A warp that polls waits until
// a word that it watches has changed. When all wait, those who poll have a turn, and their clock goes on in time.
//
// Nothing depends on the machine or on time: [Report.Trace], a digest of all decisions and of all observed accesses, is
// the same for each run of the same task with the same strategy and seed. [Report.Schedule] lists the decisions, and
// [Checker.Replay] makes them again: it has the same trace, or reports [ErrOtherRun].
//
// [Explore] runs many schedules, joins their findings, and shrinks the schedules that show them. [Exhaustive] runs all
// schedules that differ in the order of strong accesses to a word; when [Coverage].Complete, there is no other finding
// within this model. A load that polls in vain is no step there, and waits with a deadline are not followed beyond it.
//
// Memory is in order: a store is visible when it is executed. What the memory model of PTX allows beyond that is
// judged by the order of the accesses, in package race, and not shown by wrong values.
//
// A launch happens after the commands before it in its stream, and its end before those behind it. Work that is
// enqueued happens after what the host did before. A host that synchronizes happens after the stream, and hosts that
// meet after one another. Events order streams. WriteValue releases what its stream did before, and WaitValue acquires.
// The replays of a graph follow one another, and the nodes of its lanes as the events of the capture say.
//
// A kernel with programmatic dependent launch is not ordered behind the one before it in its stream, even when a
// schedule lets it begin late: only griddepcontrol.wait orders it. Any other command waits for all kernels before it.
//
// The shared memory of a block is checked like global memory. Its blocks of a cluster reach it between two barriers of
// the cluster: the begin and the end of a block count as writes to all of its shared memory. So do the free of an
// allocation and, with [Config.Processes], the end of the rank that owns it: accesses of peers have to happen before.
//
// An asynchronous access, as a bulk copy, begins where it is issued, and ends where a thread has waited for it: by its
// group, or by the mbarrier that it completes. The end of a grid waits for all copies. The arrivals at an mbarrier in a
// phase happen before what is behind a wait for that phase.
//
// An access has to lie within one buffer: a range with a name, or what of an allocation has none. What follows a named
// range up to the next multiple of 256 bytes belongs to no buffer.
//
// # Clocks
//
// Each warp, each stream and each host is a thread of package race, whose documentation describes the clocks.
// The clock that kernels read advances by a fixed amount each step and each reading. While every warp polls and none
// reads it, it stands still, until that is a deadlock or has lasted long. So a wait with a deadline ends in the
// finding, and not by its deadline.
//
// # Limits
//
// An instruction that is not modeled is executed and listed in [Report.Incomplete]: those on tensor maps in memory, and
// discard. A run that needs more steps than its budget, or of which a task fails, is incomplete, too.
//
// These are not noticed:
//
//   - accesses of host code to host memory, and to what it uploads or downloads
//   - an access to freed memory of which the detector keeps nothing, since a later one has taken its place
//   - uninitialized bytes that a copy reads; what it writes counts as written
//   - strong accesses to the same word in an order that the kernel does not expect, other than stale flags and lost
//     signals, such as a packet that is cleared after the next one has come
//   - a loop that polls by weak loads, before the run has used up its budget: see EndlessLoop
//   - a wait of which the code behind the load does not show with what the value is compared, for stale flags and torn
//     vectors
//   - the reading of a tensor map by the copies that name it
//   - the scopes of mbarrier instructions
//   - what the limits of package race leave out
//   - whether a schedule could be worse: unless the strategy is Exhaustive, schedules are sampled, and a clean report
//     is no proof
package check
