// Package litmus explores litmus tests of PTX: it enumerates the executions that the PTX memory model allows, and
// reports final states, verdicts and data races. No schedule and no simulator takes part.
//
// The files:
//
//	test, condition               a test as data
//	parse and parse_*             the format of herd7 and dartagnan
//	explorer, trace, combine      runs of threads, with a guess for each value that is read
//	candidate, readsfrom          relations between events, and the choices of an execution
//	barrier, causality, coherence the axioms of the model
//	result, expect                states, verdicts and races
//
// # Model
//
// The axioms are those of "Parallel Thread Execution ISA", chapter "Memory Consistency Model", from version 7.5 on:
//
//	Coherence         causality order between two writes to the same memory is coherence order
//	Fence-SC          the order of fence.sc does not contradict base causality order
//	Atomicity         no morally strong write comes between the read and the write of an atomic operation
//	No-Thin-Air       no value depends on itself
//	Causality         communication order does not contradict causality order
//
// The sixth axiom of that chapter, SC-per-Location, follows from these.
//
// Coherence order is partial: causality and moral strength alone order writes. What nothing orders has several last
// writes, and each gives a final value. Causality order begins with observation and goes on with proxy-preserved base
// causality order.
//
// # Enumeration
//
// The runs of a thread are listed for every value that each read may return. The values come from an iteration that
// begins with the initial ones. Runs of all threads are combined where each read finds a write of its value. Then
// come the choices: the write that each read observes, the arrivals that synchronize at a barrier, the order of
// fence.sc, and the order of morally strong writes. Relations are bit sets, so an execution has at most 64 events.
//
// # Limits
//
//   - All words have one size. No two locations overlap in part.
//   - The read and the write of an atomic operation are two events in program order, as dartagnan has them. They race
//     as one operation: what observes the write is ordered behind both.
//   - An atomic compare-and-swap that fails writes the value that it has read.
//   - Loops are bounded by [Options].Unroll. [Result].Bounded says that longer runs were left out.
//   - An execution that waits at a barrier for ever has no final state. [Result].Deadlock says that there are such.
package litmus
