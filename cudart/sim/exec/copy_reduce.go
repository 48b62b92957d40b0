package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// bulkReduction is what cp.reduce.async.bulk does with each element at the destination, by
// an atomic operation.
type bulkReduction struct {
	size uint64 // of an element
	fn   update
}

// takeReduction takes operation and type of a reduction of plain bulk copies, to a space.
func (c *compiler) takeReduction(to ptx.Space) *bulkReduction {
	name := c.takeReductionName()
	noftz := c.has("noftz")
	t := c.takeType()
	r := newBulkReduction(name, t)
	halfs := t.IsFloat() && t.Bits == 16
	if r == nil || noftz != (halfs && name == "add") || to != ptx.Global && !reducesInShared(name, t) {
		c.fail("cp.reduce.async.bulk has no .%s of .%s to this state space; .add of 16-bit floats takes .noftz", name, t)
	}
	return r
}

func (c *compiler) takeReductionName() string {
	name := c.take("add", "min", "max", "inc", "dec", "and", "or", "xor")
	if name == "" {
		c.fail("cp.reduce needs an operation: .add, .min, .max, .inc, .dec, .and, .or or .xor")
	}
	return name
}

// reducesInShared reports whether the mbarrier forms have a reduction: integers alone.
func reducesInShared(name string, t ptx.Type) bool {
	switch name {
	case "add":
		return t == u32 || t == s32 || t == u64
	case "min", "max":
		return t == u32 || t == s32
	case "inc", "dec":
		return t == u32
	}
	return t == b32
}

// newBulkReduction returns nil where PTX has no such reduction.
func newBulkReduction(name string, t ptx.Type) *bulkReduction {
	r := &bulkReduction{size: uint64(t.Width() / 8)}
	bits := t.Class == ptx.Bits
	switch {
	case t.Lanes > 1 || t.Width() < 16 || t.IsFloat8():
	case name == "and" || name == "or" || name == "xor":
		if bits && t.Bits >= 32 {
			r.fn = modifyInt(name, t)
		}
	case name == "inc" || name == "dec":
		if t == u32 {
			r.fn = modifyInt(name, t)
		}
	case t.IsFloat() && name == "add":
		r.fn = modifyFloat(name, t)
	case t.IsFloat() && t.Bits == 16:
		step := smallFloat(formatOf(t), name, false, false, false)
		r.fn = func(old, v uint64) uint64 { return step(old&0xffff, v&0xffff, 0) }
	case !bits && !t.IsFloat() && t.Bits >= 32 && (name != "add" || t != s64):
		r.fn = modifyInt(name, t)
	}
	if r.fn == nil {
		return nil
	}
	return r
}

// apply reduces data into memory at dst.
func (r *bulkReduction) apply(w *warp, dst unsafe.Pointer, data []byte) {
	for at := uint64(0); at < uint64(len(data)); at += r.size {
		p := unsafe.Add(dst, at)
		w.flushAt(p, r.size)
		updateWord(p, r.size, readPlain(unsafe.Pointer(&data[at]), r.size), r.fn)
	}
}

// linearReduction is a linear copy that reduces.
type linearReduction struct {
	linear
	*bulkReduction
}

func (l *linearReduction) deliver(t *transfer) { l.apply(t.warp, l.dst, l.data) }

// prefetchBulk compiles what only talks to the L2 cache:
//
//	cp.async.bulk.prefetch.L2.global [src], size;
//	cp.async.bulk.prefetch.tensor.2d.L2.global{.tile} [map, {c0, c1}];
func (c *compiler) prefetchBulk(o *op) {
	if !c.has("L2") {
		c.fail("cp.async.bulk.prefetch needs .L2")
	}
	hinted := 0
	if c.has("L2::cache_hint") {
		hinted = 1
	}
	if c.has("tensor") {
		c.prefetchTensor(o, hinted)
		return
	}
	if c.takeSpace() != ptx.Global {
		c.fail("cp.async.bulk.prefetch is for global memory")
	}
	c.args(2 + hinted)
	src, size := c.endpoint(0, ptx.Global), new(int32)
	c.src(size, 1, u32)
	o.run = func(w *warp, _ *op, mask uint32) error {
		for ; mask != 0; mask &= mask - 1 {
			lane := lowest(mask)
			addr, err := src.at(w, lane)
			if err != nil {
				return err
			}
			if n := w.regs[*size][lane]; n%16 != 0 {
				return w.fault(IllegalInstruction, lane, "%d bytes cannot be prefetched in bulk; multiples of 16 can", n)
			} else if addr%16 != 0 {
				return w.fault(MisalignedAddress, lane, "address %#x is not a multiple of 16", addr)
			}
		}
		return nil
	}
}
