// Package device holds the CUDA headers that the kernels share; it has no Go code. Each header opens with its contract.
//
//	entries.cuh, params.cuh     entry points; the parameter block, the signal pad and the fault record
//	barrier.cuh, multimem.cuh   barriers between the same-numbered blocks of all ranks: by flags, by multicast
//	packet.cuh, mailbox.cuh     data that needs no barrier: with a flag beside it, or as its own flag
//	keyed_mailbox.cuh, row_exchange.cuh  mailboxes for any bits, and exchanges of parts through them
//	chain.cuh                   ranks that push vectors on from one to the next
//	prefetch.cuh                loads that are issued while a launch still learns whether it may send
//	vector.cuh, copy.cuh        vectors of 16 bytes at any address
//	types.cuh, ops.cuh, reduce.cuh, epilogue.cuh  reductions in rank order, and what is applied to their result
//	bulk.cuh, mbarrier.cuh      bulk copies through shared memory
//	multicast_*.cuh             copies and reductions by the switch (NVLS)
//	part.cuh, scratch_slots.cuh how ranks divide work, and scratch that peers store to
//
// # Epochs
//
// Each block of a grid counts its synchronizations with the same-numbered block of all ranks. The count is the epoch.
// It lives in the signal pad, the head of every rank's symmetric memory, and only grows, so that a captured graph can
// be replayed and nothing is reset between launches. All algorithms share these counts. A block synchronizes by flags
// (a barrier), by packets or by mailboxes. Each of these takes one epoch, on all ranks. If data goes one way only,
// ranks without data send one vector of any content, so that all ranks synchronize.
//
// # Slots
//
// Data that a block stages for its peers, or that they store for the block, lie in a slot of that block. A block has
// two slots of each kind, used in turn by the parity of the epoch. A slot used in one epoch is free two epochs later,
// whatever algorithms ran in between: by then the block has synchronized with all peers in the epoch in between, and
// the peers entered that epoch after they had read the slot.
//
//   - Scratch slots (oneshot) are read by peers after a barrier.
//   - Packet slots hold packets: an epoch beside each four bytes, so any type, at twice the size.
//   - Mailbox slots hold words that are their own flags: of floats, or of any bits beside a key for each row of them.
//     Zero means empty; data are encoded so that no word is zero.
//     The receiver stores zeros again before it sends anything in the next epoch.
//
// The Comm zeroes packets and mailboxes once; then nothing else uses that memory. In chains the receiver has room for
// all vectors of a launch.
//
// # Barriers of a launch
//
// A launch with barriers has a last one (Epochs::sync_last), after which the block's threads do not synchronize again,
// and mostly a first one (Epochs::sync_first), before which it has written nothing that peers read. Two algorithms
// write before their first barrier: oneshot to its own slots, and twoshot_push to the scratch of peers that may still
// be in the call before. So every algorithm that uses scratch, except oneshot, synchronizes once more after its last
// use of it, and the scratch of others lies behind oneshot's slots.
//
// # Waits
//
// Every wait for a peer is bounded. The first wait of a rank that expires is written to the fault record in host
// memory, with rank, phase, peer and block; all later waits of that rank return at once. A wait that depends on a
// peer's own wait may last one more time-out, so that the missing rank is the one reported.
//
// # Programmatic dependent launch (PDL)
//
// Kernels for sm_90 and up may start before the previous kernel of their stream has ended. Every entry point waits for
// that one before it touches memory: its Epochs do, or else grid_dependency_sync. A test of package kernels reads the
// PTX for entry points that do not.
package device
