package exec

import "slices"

// What an observer is told of the tensor cores of the 5th generation: what they read of shared memory, and when they arrive
// at mbarriers. Tensor memory is not observed.

// observeTensor makes tcgen05.alloc tell what it writes to shared memory. Operations that are issued tell of themselves, and
// the others touch nothing but registers and tensor memory; lanes meet at them.
func (c *compiler) observeTensor(o *op) {
	if o.kind != opControl {
		return
	}
	if !slices.Contains(c.in.Mods, "alloc") {
		run := o.control
		o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
			v, err := run(w, o, mask)
			if err == nil && v == proceed {
				w.tellMeeting(mask, false)
			}
			return v, err
		}
		return
	}
	allocate := o.control
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		v, err := allocate(w, o, mask)
		if err != nil || v != proceed {
			return v, err
		}
		a := ObservedAccess{Kind: Writes, Bytes: 4, Elements: 1, Lanes: 1}
		a.Addresses[0] = w.regs[o.a][0] + o.mem.bias
		w.tellMeeting(mask, false)
		w.grid.cfg.Observer.Access(w.site(), &a)
		w.tellMeeting(mask, false)
		return v, nil
	}
}

// observeTile tells that an operation reads a matrix in the shared memory of each block.
func (t *tensorOperation) observeTile(blocks []*block, source *tile, rows, chunks int) {
	if !t.warp.grid.kernel.program.observed {
		return
	}
	if t.observed == nil {
		t.observed = &ObservedCopy{Async: true}
	}
	for _, b := range blocks {
		t.observed.readChunks(b, source, rows, chunks)
	}
}

// issued tells that an operation is under way, when its reads are known.
func (t *tensorOperation) issued() {
	if t.observed == nil {
		return
	}
	w := t.warp
	w.grid.cfg.Observer.Copy(w.site(), t.observed)
	if w.tensorIssued == nil {
		w.tensorIssued = map[int]*ObservedCopy{}
	}
	w.tensorIssued[t.lane] = t.observed
}

// observeCommit tells that an arrival is under way.
func (t *tensorOperation) observeCommit(into *block, barrier uint64) {
	w := t.warp
	if !w.grid.kernel.program.observed {
		return
	}
	p, err := w.rangeAt(barrier, 8, 8, t.lane)
	if err != nil {
		return
	}
	t.observed = &ObservedCopy{Barrier: &ObservedBarrier{into.index, barrier, readMbarrier(p).phase}}
	w.grid.cfg.Observer.Copy(w.site(), t.observed)
	t.prior = w.tensorIssued[t.lane]
}

// tellCommit tells of an arrival, before the mbarrier counts it. The last operation stands for those before.
func (t *tensorOperation) tellCommit(into *block, barrier, phase uint64) {
	if t.observed == nil {
		return
	}
	all := []*ObservedCopy{t.observed}
	if t.prior != nil {
		all = append(all, t.prior)
	}
	t.warp.grid.cfg.Observer.Complete(ObservedBarrier{into.index, barrier, phase}, all)
}

// observe tells what a multiplication reads of shared memory.
func (p *tensorProduct) observe(t *tensorOperation) {
	tell := func(source *tile, rows int) {
		across, chunks := rows, tensorRowBytes/chunkBytes
		if source.mnMajor {
			across, chunks = p.kind.k, (rows+p.kind.perChunk()-1)/p.kind.perChunk()
		}
		t.observeTile(p.blocks, source, across, chunks)
	}
	if !p.aInTensor {
		tell(&p.aTile, p.m/len(p.blocks))
	}
	tell(&p.bTile, p.n/len(p.blocks))
}

// readChunks adds the chunks of a matrix in the shared memory of a block: so many along the dimension that is contiguous,
// across so many elements.
func (k *ObservedCopy) readChunks(b *block, source *tile, across, chunks int) {
	var all []uint64
	for j := range across {
		for i := range chunks {
			all = append(all, source.chunk(uint64(i), uint64(j)))
		}
	}
	slices.Sort(all)
	base := b.shared.base
	for i, at := range slices.Compact(all) {
		if n := len(k.Reads); i > 0 && k.Reads[n-1].Address+k.Reads[n-1].Bytes == base+at {
			k.Reads[n-1].Bytes += chunkBytes
		} else {
			k.Reads = append(k.Reads, ObservedRange{base + at, chunkBytes, b.index, 0})
		}
	}
}
