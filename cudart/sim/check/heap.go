package check

import (
	"fmt"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// kernelHeap is where malloc in a kernel allocates. Each allocation is one like those by host code, with bounds of its
// own, undefined contents and an end. Its address is not used again. So it belongs to the rank until a kernel frees it,
// or the rank ends.
type kernelHeap struct{ observer *observer }

// Leak is memory by malloc in a kernel that nobody has freed when its rank ends. It is a note.
const Leak = finding.Leak

// heapCall is a call of malloc or free by a lane.
type heapCall struct {
	Access
	lane int
}

func (o *observer) heapCall(name string, at exec.Place, lane int) *heapCall {
	call := &heapCall{sideAt(o.actor(at.Block, at.Warp), at.Site, race.Write), lane}
	call.Text = name
	return call
}

// ofHeap describes memory by malloc.
func (r *region) ofHeap() string {
	text := fmt.Sprintf("malloc at %s, of %d bytes", r.malloc.Place(), r.size)
	if r.free != nil {
		text += fmt.Sprintf(", freed by lane %d at %s", r.free.lane, r.free.Place())
	}
	return text
}

// leaks notes the memory that kernels of a rank have allocated and nobody has freed, each call of malloc once.
func (r *run) leaks(rank *Rank) {
	if rank.host.err != nil { // a kernel may have ended in front of its free
		return
	}
	for _, in := range r.memory.regions {
		if in.rank != rank.Number || in.malloc == nil || in.freed {
			continue
		}
		r.note(Finding{
			Kind: Leak, Cause: "nobody frees the memory", Sides: []Access{in.malloc.Access}, Bytes: uint64(in.size), Note: true,
			Where:  r.memory.describe(in.base),
			Advice: "call free in a kernel of the same rank: until the process ends, the memory is missing in the heap",
		}, in.malloc.lane, in.base)
	}
}

// freeingSite is the site of an operation by which a kernel frees memory.
type freeingSite struct{ exec.Site }

// Malloc implements exec.Allocator. All that kernels of the rank hold at once is at most exec.HeapBytes.
func (h *kernelHeap) Malloc(at exec.Place, lane int, bytes uint64) uint64 {
	o, held := h.observer, uint64(0)
	for _, r := range o.run.memory.regions {
		if r.rank == o.rank && r.malloc != nil && !r.freed {
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
	r.malloc = o.heapCall("malloc", at, lane)
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
	if r != nil && r.base == addr && r.rank == o.rank && r.malloc != nil && !r.freed {
		r.free = o.heapCall("free", at, lane)
		o.run.end(r, o.warp(at.Block, at.Warp), kernelFrees, freeingSite{at.Site})
		return true
	}
	f := Finding{
		Kind: Freed, Cause: "free of what malloc has not returned", Where: o.run.memory.describe(addr),
		Sides:  []Access{o.heapCall("free", at, lane).Access},
		Advice: "give free the address that malloc has returned, in a kernel of the same rank",
	}
	if r != nil && r.free != nil {
		f.Sides = []Access{r.free.Access, f.Sides[0]}
		f.Cause, f.Advice = "memory is freed twice", "let one thread free the memory, once"
	}
	o.run.note(f, lane, addr)
	return false
}
