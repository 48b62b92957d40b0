package exec

import (
	"unsafe"

	"gpurun/cudart/sim/ptx"
)

// asyncStore is what st.async and red.async do in the shared memory of a block of the cluster.
type asyncStore struct {
	dst    unsafe.Pointer
	to     uint64 // its generic address
	size   uint64 // of an element
	values []uint64
	fn     update // nil for a store
}

func (s *asyncStore) fetch(*transfer) {} // the values were read when the thread stored them

func (s *asyncStore) deliver(*transfer) {
	for k, v := range s.values {
		at := unsafe.Add(s.dst, uint64(k)*s.size)
		if s.fn == nil {
			writePlain(at, s.size, v)
		} else {
			updateWord(at, s.size, v, s.fn)
		}
	}
}

// storeAsync compiles what counts its bytes at an mbarrier of the same block:
//
//	st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar];
//	red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar];
func (c *compiler) storeAsync(o *op) {
	c.needs(90, 8, 1)
	c.take("weak", "relaxed")
	c.take("cluster")
	space := c.takeSpace()
	barrier := c.has("mbarrier::complete_tx::bytes")
	name := ""
	if c.in.Op == "red" {
		name = c.take("add", "min", "max", "inc", "dec", "and", "or", "xor")
	}
	values := c.takeVector(1)
	t := c.takeType()
	if c.args(3); c.err != nil {
		return
	}
	s := asyncStore{size: uint64(t.Width() / 8), fn: modifyInt(name, t)}
	known := t.Lanes == 1 && t.Bits >= 32 && (c.in.Op == "st" || s.fn != nil && !t.IsFloat())
	if !known || !barrier && c.in.Op == "st" || space != ptx.SharedCluster && space != ptx.Generic ||
		len(values)*t.Width() > 128 {
		c.fail("this form of %s.async is not implemented", c.in.Op)
		return
	}
	slots := make([]int32, len(values))
	for i, e := range values {
		c.srcOperand(&slots[i], e, t)
	}
	to, mbarrier := c.endpoint(0, space), c.endpoint(2, space)
	to.mem.size, mbarrier.mem.size = s.size*uint64(len(values)), 8
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.progresses()
		for m := mask; m != 0; m &= m - 1 {
			if err := w.startStore(s, slots, to, mbarrier, lowest(m)); err != nil {
				return err
			}
		}
		return nil
	}
}

// startStore begins the store of one lane.
func (w *warp) startStore(s asyncStore, slots []int32, to, mbarrier *endpoint, lane int) error {
	addr, err := to.at(w, lane)
	if err != nil {
		return err
	}
	barrier, err := mbarrier.at(w, lane)
	if err != nil {
		return err
	}
	if addr>>rankShift != barrier>>rankShift {
		return w.fault(IllegalInstruction, lane, "the store goes to block %d of the cluster and its mbarrier is in block %d",
			rankOf(addr), rankOf(barrier))
	}
	bytes := s.size * uint64(len(slots))
	s.to = addr
	if s.dst, err = w.writableAt(addr, bytes, bytes, lane); err != nil {
		return err
	}
	for _, slot := range slots {
		s.values = append(s.values, w.regs[slot][lane])
	}
	return w.startCounted(&transfer{warp: w, lane: lane, copier: &s, bytes: bytes}, barrier)
}
