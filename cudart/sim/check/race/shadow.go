package race

import "slices"

// Memory is what the detector keeps of an address space: the last accesses to each element. The zero Memory has
// not been accessed.
type Memory struct {
	pages  map[uint64]*page
	last   *page // that was accessed last, with its number
	number uint64
	origin *event // that began the memory; see BeginMemory
	// Unwritten, where it is not nil, is called at a read of an element of which nothing was written.
	Unwritten func(t *Thread, op *Operation, addr uint64)
	// Name tells people which memory it is. The detector passes it on.
	Name any
}

// pageBytes is the size of a page, and of the largest element.
const pageBytes = 256

// page is what is kept of pageBytes. All its cells have the same size, that of the smallest element accessed so far.
type page struct {
	grain uint64 // bytes of a cell
	cells []cell
}

// cell is the last write to some bytes, and the reads since then.
type cell struct {
	write   *event
	message *message // of the write, if it is strong
	reads   []*event
	earlier []earlier
}

// event is an operation at a time of a thread. Accesses of one instruction share it.
type event struct {
	thread *Thread
	time   uint32
	op     *Operation
}

// Access is an access of a thread: for each lane's address so many elements, one behind the other. Every address is a
// multiple of the element's size.
func (d *Detector) Access(t *Thread, m *Memory, op *Operation, addresses []uint64, elements int) {
	d.at = m
	if op.strong() && op.Kind != Write {
		m.each(op, addresses, elements, func(_ uint64, cells []cell) {
			t.observe(cells[0].message, op)
			d.poll(t, cells[0].message, op)
			for i := range cells {
				cells[i].message.isObserved(t, op)
			}
		})
		d.tears(t, m, op, addresses, elements)
	}
	e := &event{thread: t, time: t.time, op: op}
	if op.Kind == Read {
		m.each(op, addresses, elements, func(addr uint64, cells []cell) { d.read(e, addr, cells) })
		return
	}
	var releases []*release
	if op.strong() {
		releases = t.releasesOf(op) // behind what an atomic operation has acquired
	}
	m.each(op, addresses, elements, func(addr uint64, cells []cell) { d.write(e, addr, cells, releases) })
}

// each calls f for each element with its cells.
func (m *Memory) each(op *Operation, addresses []uint64, elements int, f func(addr uint64, cells []cell)) {
	for _, addr := range addresses {
		for range elements {
			f(addr, m.cells(addr, op.Bytes))
			addr += op.Bytes
		}
	}
}

func (d *Detector) read(e *event, addr uint64, cells []cell) {
	d.at.checkWritten(e, addr, cells)
	for i := range cells {
		d.compareObserved(cells[i].write, cells[i].message, e, addr)
		d.compareEarlier(&cells[i], e, addr)
		cells[i].addRead(e)
	}
}

// write is a write or an atomic operation.
func (d *Detector) write(e *event, addr uint64, cells []cell, releases []*release) {
	if e.op.Kind == Update {
		d.at.checkWritten(e, addr, cells)
	}
	for i := range cells {
		c := &cells[i]
		d.compareObserved(c.write, c.message, e, addr)
		for _, r := range c.reads {
			d.compare(r, e, addr)
		}
		d.compareEarlier(c, e, addr)
		before := c.message
		*c = cell{write: e, reads: c.reads[:0], earlier: c.replaced(e)}
		if e.op.strong() {
			c.message = publish(e.thread, e.op, releases, before)
		}
	}
}

// addRead keeps one read of each thread, strength and proxy. The last copy of a channel stands for the others.
func (c *cell) addRead(e *event) {
	for i, r := range c.reads {
		if r.thread.number == e.thread.number && r.op.Scope == e.op.Scope && r.op.Bytes == e.op.Bytes &&
			r.op.Proxy == e.op.Proxy {
			c.reads[i] = e
			return
		}
	}
	c.reads = append(c.reads, e)
}

// cells are those of an element. The cells of its page become as small as the element, if they are larger.
func (m *Memory) cells(addr, bytes uint64) []cell {
	p := m.page(addr/pageBytes, bytes)
	if bytes < p.grain {
		p.split(bytes)
	}
	first := addr % pageBytes / p.grain
	return p.cells[first : first+bytes/p.grain]
}

// page finds a page by its number, or makes one for elements of so many bytes.
func (m *Memory) page(number, bytes uint64) *page {
	if m.last != nil && m.number == number {
		return m.last
	}
	p := m.pages[number]
	if p == nil {
		if m.pages == nil {
			m.pages = map[uint64]*page{}
		}
		p = &page{grain: bytes}
		p.cells = make([]cell, pageBytes/p.grain)
		for i := range p.cells {
			p.cells[i].write = m.origin
		}
		m.pages[number] = p
	}
	m.last, m.number = p, number
	return p
}

// split makes the cells of a page smaller.
func (p *page) split(grain uint64) {
	parts := p.grain / grain
	cells := make([]cell, 0, uint64(len(p.cells))*parts)
	for _, c := range p.cells {
		for range parts {
			part := c
			part.reads, part.earlier = slices.Clone(c.reads), slices.Clone(c.earlier)
			cells = append(cells, part)
		}
	}
	p.grain, p.cells = grain, cells
}
