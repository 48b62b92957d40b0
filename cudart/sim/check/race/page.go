package race

import "slices"

// page is what is kept of pageBytes. All its cells have the same size, that of the smallest element accessed so far
// by accesses to a part of the page.
type page struct {
	grain uint64 // bytes of a cell
	cells []cell
	few   [2]cell // the cells of a page that has no more
}

// some is each for elements of a chunk.
func (c *chunk) some(now *event, op *Operation, addr, end uint64, f func(uint64, []cell, int)) {
	for addr < end {
		at := addr % chunkBytes / pageBytes
		p := c.pages[at]
		if p == nil {
			p = &page{}
			p.unite(c.rest[0].clone())
			c.pages[at] = p
		}
		stop := min(end, (addr/pageBytes+1)*pageBytes)
		if op.strong() || !p.accessWide(now, op, addr, stop, f) {
			p.accessElements(op, addr, stop, f)
		}
		if op.Kind == Write && !op.strong() {
			p.join(stop - addr)
		}
		addr = stop
	}
}

// accessElements is each for elements of a page, of which each has cells of its own.
func (p *page) accessElements(op *Operation, addr, stop uint64, f func(uint64, []cell, int)) {
	if op.Bytes < p.grain {
		p.split(op.Bytes)
	}
	first := addr % pageBytes / p.grain
	f(addr, p.cells[first:first+(stop-addr)/p.grain], int(op.Bytes/p.grain))
}

// accessWide is each for a weak access to elements of a page whose cells are larger than an element, which are then as
// large as the access allows. It reports whether they tell enough.
func (p *page) accessWide(now *event, op *Operation, addr, stop uint64, f func(uint64, []cell, int)) bool {
	widest := (addr | stop) & -(addr | stop)
	if p.grain <= op.Bytes || widest <= op.Bytes {
		return false
	}
	if widest < p.grain {
		p.split(widest)
	}
	first := addr % pageBytes / p.grain
	cells := p.cells[first : first+(stop-addr)/p.grain]
	for i := range cells {
		if !cells[i].isOneFor(now) {
			return false
		}
	}
	for i := range cells {
		f(addr+uint64(i)*p.grain, cells[i:i+1], 1)
	}
	return true
}

// unite makes a page of one cell.
func (p *page) unite(c cell) { p.grain, p.few[0], p.cells = pageBytes, c, p.few[:1] }

// isOneFor reports whether a cell of several elements tells enough for a weak access to all of it: each access that it
// has is of another thread or by the same lanes. Cells of an element's size tell lanes apart.
func (c *cell) isOneFor(now *event) bool {
	if c.write.isByOtherLanes(now) || c.read.isByOtherLanes(now) {
		return false
	}
	return c.more == nil || !slices.ContainsFunc(c.more.reads, func(r *event) bool { return r.isByOtherLanes(now) })
}

// isByOtherLanes reports whether an access, which may be nil, is of the same thread by lanes that may be others.
func (e *event) isByOtherLanes(now *event) bool {
	if e == nil {
		return false
	}
	if len(e.thread.lanes[byPTX].partial) > 0 || now.thread.lanes[byPTX].learned != 0 {
		return true // of two warps, the order may depend on the lanes
	}
	return e.thread == now.thread && (e.run != now.run || e.run == run{})
}

// run is the range of an access in which all lanes of a warp access parts of the same size, one behind the other. It is
// empty for other accesses.
type run struct{ begin, end uint64 }

func runOf(addresses []uint64, size uint64) run {
	const lanes = 32
	if len(addresses) != lanes {
		return run{}
	}
	for i, addr := range addresses {
		if addr != addresses[0]+uint64(i)*size {
			return run{}
		}
	}
	return run{addresses[0], addresses[0] + lanes*size}
}

// split makes the cells of a page smaller.
func (p *page) split(grain uint64) {
	parts := int(p.grain / grain)
	cells := make([]cell, 0, len(p.cells)*parts)
	for i := range p.cells {
		for range parts {
			cells = append(cells, p.cells[i].clone())
		}
	}
	p.grain, p.cells = grain, cells
}

// join makes the cells of a page larger behind a weak write to a part of so many bytes, if parts of that size have the
// same accesses everywhere.
func (p *page) join(bytes uint64) {
	n := int(bytes / p.grain)
	if n < 2 || bytes&(bytes-1) != 0 {
		return
	}
	for part := range slices.Chunk(p.cells, n) {
		if slices.ContainsFunc(part, func(c cell) bool { return !c.isLike(&part[0]) }) {
			return
		}
	}
	all := p.cells
	if p.grain = bytes; pageBytes/bytes <= uint64(len(p.few)) {
		p.cells = p.few[:pageBytes/bytes]
	}
	p.cells = p.cells[:pageBytes/bytes]
	for i := range p.cells {
		p.cells[i] = cell{write: all[i*n].write, read: all[i*n].read}
	}
}

// isLike reports whether two cells have the same accesses, and few.
func (c *cell) isLike(other *cell) bool {
	if m := c.more; m != nil && (m.message != nil || len(m.reads)+len(m.earlier) > 0) {
		return false
	}
	return c.write == other.write && c.read == other.read
}
