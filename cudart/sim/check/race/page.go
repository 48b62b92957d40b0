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
func (c *chunk) some(by *Thread, op *Operation, addr, end uint64, f func(uint64, []cell, int)) {
	for addr < end {
		at := addr % chunkBytes / pageBytes
		p := c.pages[at]
		if p == nil {
			p = &page{}
			p.unite(c.rest[0].clone())
			c.pages[at] = p
		}
		stop := min(end, (addr/pageBytes+1)*pageBytes)
		if all := stop-addr == pageBytes && !op.strong(); all && p.isOneFor(by) {
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

// isOneFor reports whether a weak access of a thread to a whole page needs one cell alone: there is one, of other
// threads. The accesses of a thread may be of several lanes, which cells of an element's size tell apart.
func (p *page) isOneFor(by *Thread) bool {
	c := &p.cells[0]
	if p.grain != pageBytes || c.write.isBy(by) || c.read.isBy(by) {
		return false
	}
	return c.more == nil || !slices.ContainsFunc(c.more.reads, func(r *event) bool { return r.isBy(by) })
}

func (e *event) isBy(t *Thread) bool { return e != nil && e.thread == t }

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
