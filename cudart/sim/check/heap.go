package check

import (
	"cmp"
	"fmt"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// kernelHeap is where malloc in a kernel allocates. Each allocation is one like those by host code, with bounds of its
// own, undefined contents and an end. Its address is not used again. So it belongs to the rank until a kernel frees it,
// or the rank ends.
type kernelHeap struct{ observer *observer }

// freeingSite is the site of an operation by which a kernel frees memory.
type freeingSite struct{ exec.Site }

// Malloc implements exec.Allocator. All that kernels of the rank hold at once is at most exec.HeapBytes.
func (h *kernelHeap) Malloc(at exec.Place, _ int, bytes uint64) uint64 {
	o, held := h.observer, uint64(0)
	for _, r := range o.run.memory.regions {
		if r.rank == o.rank && r.malloc != "" && !r.freed {
			held += uint64(r.size)
		}
	}
	if bytes > exec.HeapBytes-min(held, exec.HeapBytes) {
		return 0
	}
	r, err := o.run.memory.allocate(o.rank, int64(max(bytes, 1)))
	if err != nil {
		return 0
	}
	in := at.Site.Instruction()
	r.malloc = "malloc at " + cmp.Or(in.Source, fmt.Sprintf("%s:%d", in.Module, in.Line))
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp), r.base, bytes)
	return r.base
}

// Free implements exec.Allocator.
func (h *kernelHeap) Free(at exec.Place, lane int, addr uint64) bool {
	if addr == 0 {
		return true
	}
	o := h.observer
	o.run.trace.mix(uint64(at.Block), uint64(at.Warp), addr)
	r := o.run.memory.ever(addr)
	if r != nil && r.base == addr && r.rank == o.rank && r.malloc != "" && !r.freed {
		o.run.end(r, o.warp(at.Block, at.Warp), kernelFrees, freeingSite{at.Site})
		return true
	}
	f := Finding{
		Kind: Freed, Cause: "free of what malloc has not returned", Where: o.run.memory.describe(addr),
		Sides:  []Access{sideAt(o.actor(at.Block, at.Warp), at.Site, race.Write)},
		Advice: "give free the address that malloc has returned, in a kernel of the same rank",
	}
	if r != nil && r.malloc != "" && r.freed {
		f.Cause, f.Advice = "memory is freed twice", "let one thread free the memory, once"
	}
	o.run.note(f, lane, addr)
	return false
}
