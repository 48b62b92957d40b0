package check

import (
	"fmt"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// Freed is an access to memory before its life has begun or after it has ended, or one that nothing orders with that.
const Freed = finding.Freed

// lifeEvent is the begin or the end of a memory's life. It is the site of an operation that writes to all of it, so
// that what nothing orders with it is found like a race, whatever happened first in a schedule.
type lifeEvent uint8

const (
	blockBegins lifeEvent = iota
	blockEnds
	freeing
	kernelFrees
	rankEnds
	copyOutlivesBlock // blockEnds, for a copy of the same block
)

var lifeEvents = [...]struct{ text, cause, advice string }{
	blockBegins: {
		"begin of the block", "peer block may not have begun",
		"add barrier.cluster.arrive and barrier.cluster.wait before the access",
	},
	blockEnds: {
		"end of the block", "peer block has ended",
		"add barrier.cluster.arrive and barrier.cluster.wait before the end of the kernel, behind the access",
	},
	freeing: {
		"free", "memory is freed while it may be in use",
		"let the rank that accesses the memory synchronize, and the ranks meet, before it is freed",
	},
	kernelFrees: {
		"free", "memory is freed while it may be in use",
		"let the threads that access the memory come to a barrier, or release and acquire, before one of them frees it",
	},
	rankEnds: {
		"end of the rank", "a peer's memory after its end",
		"let the rank that accesses the memory synchronize, and the ranks meet, before one of them ends",
	},
	copyOutlivesBlock: {
		"end of the block", "the block may end before its asynchronous copy has read its shared memory",
		"wait for the copy before the end of the kernel, as by cp.async.bulk.wait_group.read 0",
	},
}

func (e lifeEvent) String() string { return lifeEvents[e].text }

// end ends an allocation, by what a thread does: site is the event, or the instruction of a kernel that frees.
func (r *run) end(in *region, by *race.Thread, how lifeEvent, site any) {
	op := &race.Operation{Kind: race.Write, Bytes: 1, Site: site}
	r.detector.EndMemory(by, &r.memory.shadow, in.base, in.base+uint64(in.size+255)/256*256, op)
	r.memory.free(in, how)
}

// endRank ends all memory of a rank whose host code has ended.
func (r *run) endRank(rank *Rank) {
	r.leaks(rank)
	for _, in := range r.memory.regions {
		if in.rank == rank.Number && !in.freed {
			r.end(in, rank.host.thread, rankEnds, rankEnds)
		}
	}
}

// sharedMemory names the shared memory of a block.
type sharedMemory struct{ rank, block int }

// where is a place in memory, for people.
func (r *run) where(memory any, addr uint64) string {
	if s, ok := memory.(sharedMemory); ok {
		_, offset := exec.SharedPlace(addr)
		return fmt.Sprintf("the shared memory of rank %d's block %d at +%#x", s.rank, s.block, offset)
	}
	return r.memory.describe(addr)
}

// lifeEventOf is the event that the site of an operation is, if it is one.
func lifeEventOf(site any) (lifeEvent, bool) {
	if _, ok := site.(freeingSite); ok {
		return kernelFrees, true
	}
	event, ok := site.(lifeEvent)
	return event, ok
}

// lifeFinding describes an access that nothing orders with the begin or the end of the memory.
func (r *run) lifeFinding(f *race.Finding, first, second Access) (Finding, bool) {
	event, ok := lifeEventOf(f.First.Op.Site)
	bytes := f.Second.Op.Bytes
	if !ok {
		event, ok = lifeEventOf(f.Second.Op.Site)
		bytes = f.First.Op.Bytes
	}
	out := Finding{Kind: Freed, Sides: []Access{first, second}, Bytes: bytes, Count: f.Count}
	if ok {
		if event == blockEnds && first.Rank == second.Rank && first.Block == second.Block {
			event = copyOutlivesBlock
		}
		out.Cause, out.Advice = lifeEvents[event].cause, lifeEvents[event].advice
		out.Where = r.where(f.Memory, f.Address)
	}
	return out, ok
}
