package exec

import (
	"slices"
	"unsafe"
)

// observeCopies makes an instruction tell of the copies that it has begun.
func observeCopies(o *op) {
	start := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		before := len(w.block.inFlight)
		if err := start(w, o, mask); err != nil {
			return err
		}
		w.tellCopies(w.block.inFlight[before:])
		return nil
	}
}

// tellCopies tells of the transfers of an instruction: of each that an mbarrier waits for, and of the others together.
func (w *warp) tellCopies(all []*transfer) {
	var together *ObservedCopy
	for _, t := range all {
		c := together
		if c == nil || t.barrier != nil {
			c = &ObservedCopy{}
		}
		t.addTo(c)
		t.observed = c
		if t.barrier == nil {
			together = c
			continue
		}
		c.Barrier = &ObservedBarrier{t.into.index, t.into.addressOf(t.barrier), readMbarrier(t.barrier).phase}
		t.copier = &toldCopier{t.copier, *c.Barrier, t.copies()}
		w.grid.cfg.Observer.Copy(w.site(), c)
	}
	if together != nil {
		w.grid.cfg.Observer.Copy(w.site(), together)
	}
}

// addressOf is the generic address of a place in the block's shared memory.
func (b *block) addressOf(p unsafe.Pointer) uint64 {
	return b.shared.base + uint64(uintptr(p)-uintptr(b.shared.ptr))
}

// addTo adds what a transfer accesses to an observed copy.
func (t *transfer) addTo(c *ObservedCopy) {
	reads := func(addr, bytes uint64) { c.Reads = t.addRange(c.Reads, addr, bytes) }
	writes := func(addr, bytes uint64) { c.Writes = t.addRange(c.Writes, addr, bytes) }
	boxes := func(b *box, tensor, shared func(addr, bytes uint64)) {
		shared(b.at, b.row()*b.rows())
		for _, p := range b.parts {
			if p.p != nil {
				tensor(p.addr, b.inTensor(p.to-p.from))
			}
		}
	}
	c.Async = true
	switch k := t.copier.(type) {
	case *linear:
		c.Async = !k.generic
		reads(k.from, k.bytes)
		writes(k.to, k.bytes+k.zeroes)
	case *linearReduction:
		c.Element = k.bulkReduction.size
		reads(k.from, k.bytes)
		writes(k.to, k.bytes)
	case *maskedCopy:
		reads(k.from, k.bytes)
		for at := range k.bytes {
			if k.only>>(at%16)&1 != 0 {
				writes(k.to+at, 1)
			}
		}
	case *boxLoad:
		boxes(&k.box, reads, writes)
	case *boxStore:
		if boxes(&k.box, writes, reads); k.reduction != nil {
			c.Element = k.reduction.size
		}
	case *asyncStore:
		c.Async = false
		if writes(k.to, k.size*uint64(len(k.values))); k.fn != nil {
			c.Element = k.size
		}
	case *noCancel:
		writes(k.to, cancelResponse)
	case priorCopies:
		c.Async = false
	}
}

// addRange adds a range, to the last one where it goes on there.
func (t *transfer) addRange(all []ObservedRange, addr, bytes uint64) []ObservedRange {
	block := t.warp.blockOf(addr)
	if n := len(all); n > 0 && all[n-1].Address+all[n-1].Bytes == addr && all[n-1].Block == block {
		all[n-1].Bytes += bytes
		return all
	}
	if bytes == 0 {
		return all
	}
	return append(all, ObservedRange{addr, bytes, block, t.lane})
}

// copies are the copies whose end a transfer tells its mbarrier: itself, or those that an arrival waits for, of which
// the last one stands for all. Some may have ended before the arrival.
func (t *transfer) copies() []*ObservedCopy {
	if _, arrives := t.copier.(priorCopies); !arrives {
		return []*ObservedCopy{t.observed}
	}
	g := t.warp.groupsOf(copyGroup, t.lane)
	last := g.open
	for i := len(g.committed); len(last) == 0 && i > 0; i-- {
		last = g.committed[i-1]
	}
	if len(last) == 0 {
		return nil
	}
	return []*ObservedCopy{last[len(last)-1].observed}
}

// toldCopier tells of the end of a copy, before the mbarrier counts it.
type toldCopier struct {
	copier
	barrier ObservedBarrier
	copies  []*ObservedCopy
}

func (c *toldCopier) deliver(t *transfer) {
	c.copier.deliver(t)
	c.barrier.Phase = readMbarrier(t.barrier).phase
	t.warp.grid.cfg.Observer.Complete(c.barrier, c.copies)
}

// observeWait makes wait_group and wait_all tell which copies they have waited for.
func (c *compiler) observeWait(o *op) {
	kind, reads, all := copyGroup, slices.Contains(c.in.Mods, "read"), slices.Contains(c.in.Mods, "wait_all")
	if slices.Contains(c.in.Mods, "bulk") {
		kind = bulkGroup
	}
	left := uint64(0)
	if !all {
		left = c.arg(0).Bits
	}
	wait := o.run
	o.run = func(w *warp, o *op, mask uint32) error {
		var ended []*ObservedCopy
		w.eachGroups(kind, mask, func(g *groups) {
			for i := 0; uint64(len(g.committed)-i) > left; i++ {
				ended = notTold(ended, g.committed[i], reads)
			}
			if all {
				ended = notTold(ended, g.open, reads)
			}
		})
		if err := wait(w, o, mask); err != nil {
			return err
		}
		if len(ended) > 0 {
			w.grid.cfg.Observer.Wait(w.site(), ended, reads)
		}
		return nil
	}
}

// notTold adds the copies of a group for which no lane of their warp has waited so.
func notTold(ended []*ObservedCopy, group []*transfer, reads bool) []*ObservedCopy {
	for _, t := range group {
		if c := t.observed; !c.waited && !(reads && c.waitedReads) {
			c.waited, c.waitedReads = !reads, true
			ended = append(ended, c)
		}
	}
	return ended
}
