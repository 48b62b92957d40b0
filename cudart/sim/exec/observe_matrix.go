package exec

import "slices"

// observeRows makes ldmatrix and stmatrix tell of the rows that they access, each named by a lane.
func (c *compiler) observeRows(o *op) {
	a := ObservedAccess{Kind: Reads, Bytes: rowBytes, Elements: 1, Lanes: fullMask}
	if c.in.Op == "stmatrix" {
		a.Kind = Writes
	}
	for mod, lanes := range map[string]int{"x1": 8, "x2": 16} {
		if slices.Contains(c.in.Mods, mod) {
			a.Lanes = 1<<lanes - 1
			if slices.Contains(c.in.Mods, "m16n16") {
				a.Lanes |= a.Lanes << lanes
			}
		}
	}
	observeAligned(o, func(w *warp, o *op) []ObservedAccess {
		a := a
		for lane, base := range w.regs[o.a] {
			a.Addresses[lane] = base + o.mem.bias
		}
		return []ObservedAccess{a}
	})
}

// observeAligned makes an op of a whole warp tell of accesses, which are found before it is executed.
func observeAligned(o *op, find func(w *warp, o *op) []ObservedAccess) {
	access := o.control
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		var all []ObservedAccess
		if mask == fullMask {
			all = find(w, o)
		}
		v, err := access(w, o, mask)
		if err != nil || v != proceed {
			return v, err
		}
		w.tellMeeting(mask, false)
		for i := range all {
			w.grid.cfg.Observer.Access(w.site(), &all[i])
		}
		w.tellMeeting(mask, false)
		return v, nil
	}
}

// observeFragment makes wmma.load and wmma.store tell of what the lanes access, register by register.
func (c *compiler) observeFragment(o *op) {
	m, kind := c.moved, Reads
	if slices.Contains(c.in.Mods, "store") {
		kind = Writes
	}
	if m == nil {
		return
	}
	observeAligned(o, func(w *warp, o *op) []ObservedAccess {
		units := m.perRegister() / m.together
		all := make([]ObservedAccess, m.distinct*units)
		for i := range all {
			all[i] = ObservedAccess{Kind: kind, Bytes: o.mem.size, Elements: 1, Lanes: fullMask}
		}
		for j := range m.distinct {
			for lane := range 32 {
				unit := j * units
				_ = m.eachUnit(w, o, j, lane, func(base uint64, _ int) error {
					all[unit].Addresses[lane] = base + o.mem.bias
					unit++
					return nil
				})
			}
		}
		return all
	})
}

// observeMultiplication makes wgmma.mma_async tell what it reads of shared memory: each warp reads B and its rows of A.
func (c *compiler) observeMultiplication(o *op) {
	if len(c.asyncs) == 0 {
		return
	}
	m, issue := c.asyncs[len(c.asyncs)-1], o.control
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		v, err := issue(w, o, mask)
		if err != nil || v != proceed {
			return v, err
		}
		k := &ObservedCopy{Async: true}
		k.readTile(w, w.regs[m.bDesc][0], m.mnMajor[1], 0, m.columns, elementsOfK(m.fragB), m.fragB.bits)
		if m.a == nil {
			const rows = 16 // of a warp
			k.readTile(w, w.regs[m.aDesc][0], m.mnMajor[0], w.index%4*rows, rows, elementsOfK(m.fragA), m.fragA.bits)
		}
		w.group().observe(w.async.issued-1, k)
		w.grid.cfg.Observer.Copy(w.site(), k)
		return v, nil
	}
}

// readTile adds the chunks of a matrix: so many rows from one on, of elements along K.
func (k *ObservedCopy) readTile(w *warp, descriptor uint64, mnMajor bool, from, rows, along, bits int) {
	t, why := newTile(descriptor, mnMajor)
	if why != "" {
		return // a fault, when it is performed
	}
	if bits == 1 {
		bits = 32 // elements are words
	}
	per := 8 * chunkBytes / bits
	first, last, across := 0, along/per, along
	if mnMajor {
		first, last = from/per, (from+rows+per-1)/per
	}
	var chunks []uint64
	for i := first; i < last; i++ {
		if !mnMajor {
			for j := from; j < from+rows; j++ {
				chunks = append(chunks, t.chunk(uint64(i), uint64(j)))
			}
			continue
		}
		for j := range across {
			chunks = append(chunks, t.chunk(uint64(i), uint64(j)))
		}
	}
	slices.Sort(chunks)
	base := w.block.shared.base
	for i, at := range chunks {
		if n := len(k.Reads); i > 0 && k.Reads[n-1].Address+k.Reads[n-1].Bytes == base+at {
			k.Reads[n-1].Bytes += chunkBytes
		} else {
			k.Reads = append(k.Reads, ObservedRange{base + at, chunkBytes, w.block.index, 0})
		}
	}
}

// observe adds what a warp has issued to a multiplication.
func (g *warpgroup) observe(number int, k *ObservedCopy) {
	for number-g.dropped >= len(g.observed) {
		g.observed = append(g.observed, nil)
	}
	at := &g.observed[number-g.dropped]
	*at = append(*at, k)
}

// ended are what all warps have issued of the multiplications before a number that a warp has not waited for yet.
func (g *warpgroup) ended(w *warp, before int) (all []*ObservedCopy) {
	if before > w.async.waited {
		all = slices.Concat(g.observed[w.async.waited-g.dropped : before-g.dropped]...)
		w.async.waited = before
	}
	last := before
	for _, other := range g.warps {
		if other == nil {
			return all
		}
		last = min(last, other.async.waited)
	}
	g.observed, g.dropped = g.observed[last-g.dropped:], last
	return all
}

// observeMultiplications makes wgmma.wait_group tell which multiplications it has waited for: of the whole warpgroup, as
// a multiplication is done for its four warps at once.
func (c *compiler) observeMultiplications(o *op) {
	n, wait := c.arg(0).Bits, o.control
	o.control = func(w *warp, o *op, mask uint32) (verdict, error) {
		ended := 0
		if over := len(w.async.commits) - int(min(n, uint64(len(w.async.commits)))); over > 0 {
			ended = w.async.commits[over-1]
		}
		v, err := wait(w, o, mask)
		if err != nil || v != proceed || ended == 0 {
			return v, err
		}
		if all := w.group().ended(w, ended); len(all) > 0 {
			w.grid.cfg.Observer.Wait(w.site(), all, true)
		}
		return v, nil
	}
}
