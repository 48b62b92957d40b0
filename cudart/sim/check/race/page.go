package race

import "slices"

// page is what is kept of pageBytes. All its cells have the same size, that of the smallest element accessed so far
// by accesses to a part of the page.
type page struct {
	grain uint64 // bytes of a cell
	cells []cell
	one   [1]cell // the cells of a page that has one
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
		if all := stop-addr == pageBytes && !op.strong(); all && p.isOneFor(now) {
			f(addr, p.cells, 1)
		} else {
			if op.Bytes < p.grain {
				p.split(op.Bytes)
			}
			first := addr % pageBytes / p.grain
			f(addr, p.cells[first:first+(stop-addr)/p.grain], int(op.Bytes/p.grain))
			if all && op.Kind == Write { // all cells are alike now
				p.unite(p.cells[0])
			}
		}
		addr = stop
	}
}

// unite makes a page of one cell.
func (p *page) unite(c cell) { p.grain, p.one[0], p.cells = pageBytes, c, p.one[:] }

// isOneFor reports whether a weak access to a whole page needs one cell alone. There is one, and each access that it has
// is of another thread or by the same lanes. Cells of an element's size tell lanes apart.
func (p *page) isOneFor(now *event) bool {
	c := &p.cells[0]
	if p.grain != pageBytes || c.write.isByOtherLanes(now) || c.read.isByOtherLanes(now) {
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
