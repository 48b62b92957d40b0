package exec

import (
	"fmt"
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// access is the memory part of an op.
type access struct {
	bias   uint64   // added to the register to give a generic address
	size   uint64   // of one element, in bytes
	vector []int32  // registers loaded or stored, in the order of addresses
	masks  []uint64 // of each register loaded: what its width keeps
	signed bool     // loads extend the sign
	own    bool     // only the block's own shared memory will do
	writes bool
	whole  bool // the vector is one element
	fixed  bool // a load by .nc, from memory that is read-only while the kernel runs
	order  order
	piece  uint64 // bytes that a GPU accesses at once
	move   movers
}

// bytes is the size of the whole access.
func (a *access) bytes() uint64 { return a.size * uint64(max(len(a.vector), 1)) }

// memory compiles the address operand i of an access to a state space.
func (c *compiler) memory(o *op, i int, space ptx.Space, t ptx.Type) *access {
	o.mem = &access{size: uint64(max(t.Width()/8, 1)), signed: t.Class == ptx.Signed}
	arg := c.arg(i)
	if arg.Kind != ptx.Address {
		c.fail("operand %d of %s must be an address", i+1, c.in.Op)
		return o.mem
	}
	base := arg.Elems[0]
	if space == ptx.Generic && base.Kind == ptx.Symbol {
		c.fail("%s on a variable must name its state space", c.in.Op)
	}
	if len(arg.Elems) > 1 {
		c.fail("%s takes no coordinates", c.in.Op)
	}
	o.mem.bias = windowOf(space) + uint64(arg.Offset)
	o.mem.own = space == ptx.Shared
	if base.Kind == ptx.Register {
		c.srcOperand(&o.a, base, b32) // shared addresses may have 32 bits
	} else {
		c.srcOperand(&o.a, base, b64)
	}
	return o.mem
}

// find returns the region that holds a generic address.
func (w *warp) find(addr uint64, lane int) (*span, bool) {
	id := addr >> RegionShift
	s := &w.grid.cache[id%uint64(len(w.grid.cache))]
	if s.base>>RegionShift == id && s.size > 0 {
		return s, true
	}
	if id < FirstRegion {
		return w.window(addr, lane)
	}
	r, ok := w.grid.cfg.Memory.Resolve(addr)
	if !ok || len(r.Data) == 0 {
		return nil, false
	}
	*s = newSpan(r.Base, r.Data)
	w.grid.track(r)
	return s, true
}

// window returns one of the executor's own regions: shared memory of a block of
// the cluster, local memory of the thread, the parameters, or the workspace of a cooperative grid.
func (w *warp) window(addr uint64, lane int) (*span, bool) {
	switch addr >> RegionShift {
	case sharedWindow >> RegionShift:
		return w.sharedOf(addr)
	case paramWindow >> RegionShift:
		return &w.grid.params, true
	case workspaceWindow >> RegionShift:
		return &w.grid.workspace, w.grid.workspace.size > 0
	case localWindow >> RegionShift:
		n := w.localSize
		w.localSpan = newSpan(localWindow, w.local[lane*n:(lane+1)*n])
		return &w.localSpan, n > 0
	}
	return nil, false
}

// pointer checks one lane's access and returns where its bytes are.
func (w *warp) pointer(o *op, base uint64, lane int) (unsafe.Pointer, error) {
	if o.mem.own && !w.owns(base+o.mem.bias) {
		return nil, w.notOwnShared(base+o.mem.bias, lane)
	}
	n := o.mem.bytes()
	return w.rangeAt(base+o.mem.bias, n, n, lane)
}

// rangeAt checks an access to n bytes.
func (w *warp) rangeAt(addr, n, alignment uint64, lane int) (unsafe.Pointer, error) {
	s, ok := w.find(addr, lane)
	if !ok || s.size < n || addr-s.base > s.size-n {
		return nil, w.accessFault(IllegalAddress, lane, addr, n, alignment, "no %d bytes of memory at address %#x%s", n, addr,
			w.describe(addr, s, ok))
	}
	if addr%alignment != 0 {
		return nil, w.accessFault(MisalignedAddress, lane, addr, n, alignment, "address %#x is not a multiple of %d", addr, alignment)
	}
	return unsafe.Add(s.ptr, addr-s.base), nil
}

// thread is the number of a lane within the block.
func (w *warp) thread(lane int) int { return w.index*32 + lane }

// writable is pointer for an access that writes.
func (w *warp) writable(o *op, base uint64, lane int) (unsafe.Pointer, error) {
	if o.mem.own && !w.owns(base+o.mem.bias) {
		return nil, w.notOwnShared(base+o.mem.bias, lane)
	}
	n := o.mem.bytes()
	return w.writableAt(base+o.mem.bias, n, n, lane)
}

// writableAt is rangeAt for an access that writes.
func (w *warp) writableAt(addr, n, alignment uint64, lane int) (unsafe.Pointer, error) {
	if addr>>RegionShift == paramWindow>>RegionShift {
		return nil, w.fault(IllegalAddress, lane, "parameters cannot be written")
	}
	return w.rangeAt(addr, n, alignment, lane)
}

// describe says what is wrong with an address.
func (w *warp) describe(addr uint64, s *span, ok bool) string {
	if _, multicast := w.grid.multicast(addr); multicast {
		return ", which is a multicast address: only multimem instructions and stores take it"
	}
	if why := w.describeShared(addr); why != "" && !ok {
		return why
	}
	if !ok {
		return ", which belongs to no allocation"
	}
	return fmt.Sprintf(", which lies in an allocation of %d bytes at %#x", s.size, s.base)
}

// moveAll moves the elements of all 32 lanes. ok is false where the lanes are not in one region, or
// one of them is at fault: the loop over lanes then finds out which.
func (w *warp) moveAll(o *op) (*span, bool) {
	move := &o.mem.move
	if move.all == nil {
		return nil, false
	}
	if w.forms[o.a]&isAffine != 0 {
		r := w.affines[o.a].plus(affine{base: o.mem.bias})
		if w.moveLocal(o, r) {
			return nil, true
		}
		if s, ok := w.affineSpan(o, r); ok {
			move.strided(w, o, unsafe.Add(s.ptr, r.base-s.base), r.stride)
			return s, true
		}
		w.expandLanes(o.a)
	}
	if s := w.uniformSpan(o); s != nil {
		move.all(w, o, s.ptr)
		return s, true
	}
	return nil, false
}

// affineSpan checks the accesses of all 32 lanes to affine generic addresses.
func (w *warp) affineSpan(o *op, addr affine) (*span, bool) {
	s, ok := w.firstSpan(o, addr.base)
	if !ok || !addr.smallStride() {
		return nil, false
	}
	n := o.mem.bytes()
	limit := s.size - n
	inside := addr.base-s.base <= limit && addr.last()-s.base <= limit
	return s, inside && (addr.base|addr.stride)&(n-1) == 0
}

// firstSpan finds the region of the access of lane 0, which those of the other lanes may
// share.
func (w *warp) firstSpan(o *op, addr uint64) (*span, bool) {
	if addr>>RegionShift == localWindow>>RegionShift {
		return nil, false
	}
	s, ok := w.find(addr, 0)
	switch {
	case !ok || s.size < o.mem.bytes():
		return nil, false
	case o.mem.own && s != &w.block.shared, o.mem.writes && s == &w.grid.params:
		return nil, false
	}
	return s, true
}

// uniformSpan checks the accesses of all 32 lanes at once and leaves their
// offsets in w.offsets.
func (w *warp) uniformSpan(o *op) *span {
	a, n := &w.regs[o.a], o.mem.bytes()
	s, ok := w.firstSpan(o, a[0]+o.mem.bias)
	if !ok {
		return nil
	}
	limit, bias := s.size-n, o.mem.bias-s.base
	var low uint64
	for i := range a {
		off := a[i] + bias
		if off > limit {
			return nil
		}
		w.offsets[i] = off
		low |= off
	}
	if low&(n-1) != 0 {
		return nil
	}
	return s
}
