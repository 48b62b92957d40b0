package race

import "slices"

// Memory is what the detector keeps of an address space: the last accesses to each element. The zero Memory has
// not been accessed.
type Memory struct {
	chunks map[uint64]*chunk
	last   *chunk // that was accessed last, with its number
	number uint64
	origin *event // that began the memory; see BeginMemory
	now    *event // that accesses it
	// Unwritten, where it is not nil, is called at a read of an element of which nothing was written.
	Unwritten func(t *Thread, op *Operation, addr uint64)
	// Name tells people which memory it is. The detector passes it on.
	Name any
}

const (
	pageBytes  = 256 // the size of a page, and of the largest element
	chunkBytes = 1 << 16
)

// chunk is what is kept of chunkBytes. Copies and fills often access all of it alike.
type chunk struct {
	rest  [1]cell // of the bytes without a page
	pages [chunkBytes / pageBytes]*page
}

// cell is the last write to some bytes, and the reads since then.
type cell struct {
	write, read *event
	more        *more // or nil
}

// more is what few cells have.
type more struct {
	message *message // of the write, if it is strong
	reads   []*event // but for the first one
	few     [3]*event
	earlier []earlier
}

// event is an operation at a time of a thread. Accesses of one instruction share it.
type event struct {
	thread *Thread
	time   uint32
	step   uint32
	op     *Operation
	run    run
	footprint
	unchanged uint32 // lanes of a weak write that wrote what was there
	knew      *clock // what was known then, by any scope: for a diagnosis, else nil
}

// Access is an access of a thread: for each lane's address so many elements, one behind the other. Every address is a
// multiple of the element's size.
func (d *Detector) Access(t *Thread, m *Memory, op *Operation, addresses []uint64, elements int) {
	d.AccessByLanes(t, m, op, 0, addresses, elements)
}

// AccessByLanes is [Detector.Access] by lanes of a warp, which have an address each. 0 does not tell them apart.
func (d *Detector) AccessByLanes(t *Thread, m *Memory, op *Operation, lanes uint32, addresses []uint64, elements int) {
	d.Store(t, m, op, lanes, 0, addresses, elements)
}

// Store is [Detector.AccessByLanes] of which some lanes are known to have stored what was there already.
func (d *Detector) Store(t *Thread, m *Memory, op *Operation, lanes, unchanged uint32, addresses []uint64,
	elements int,
) {
	bytes := op.Bytes * uint64(elements)
	e := &event{
		thread: t, time: t.time, step: t.step, op: op, run: runOf(addresses, bytes),
		footprint: footprintOf(lanes, addresses, bytes), unchanged: unchanged,
	}
	d.at, m.now = m, e
	if d.wishes != nil {
		knew := t.known.anyScope
		e.knew = &knew
		d.wishes.perform(t, op, lanes)
	}
	t.lanes[byPTX].pending |= lanes
	t.lanes[byHardware].pending |= lanes
	if op.strong() && op.Kind != Write {
		m.each(op, addresses, elements, func(addr uint64, cells []cell, perElement int) {
			for i := range cells {
				m := cells[i].message()
				if i%perElement == 0 {
					t.observe(m, op, e.lanesAt(m, addr+uint64(i/perElement)*op.Bytes))
					d.poll(t, m, op)
				}
				m.isObserved(t, op)
			}
		})
		d.tears(t, m, op, addresses, elements)
	}
	if !op.strong() {
		addresses = withoutRepeats(addresses)
	}
	if op.Kind == Read {
		m.each(op, addresses, elements, func(addr uint64, cells []cell, n int) { d.read(e, addr, cells, n) })
		return
	}
	var message *published
	if op.strong() {
		// The releases are behind what an atomic operation has acquired.
		message = &published{writer: t, op: op, releases: t.releasesOf(op, e.orAll()), reading: t.reads()}
	}
	m.each(op, addresses, elements, func(addr uint64, cells []cell, n int) { d.write(e, addr, cells, n, message) })
}

// withoutRepeats leaves out the second half of addresses that repeats the first one, as where the lanes of a warp are a
// tile of several rows.
func withoutRepeats(addresses []uint64) []uint64 {
	for n := len(addresses) / 2; n > 0 && 2*n == len(addresses) && slices.Equal(addresses[:n], addresses[n:]); n /= 2 {
		addresses = addresses[:n]
	}
	return addresses
}

// read is a read of elements that have so many cells each.
func (d *Detector) read(e *event, addr uint64, cells []cell, perElement int) {
	d.at.checkWritten(e, addr, cells, perElement)
	var ordered *event // before e: elements that were written at once are compared once
	grain := e.op.Bytes / uint64(perElement)
	for i := range cells {
		c := &cells[i]
		d.cell, d.cellBytes, d.byLane = addr+uint64(i)*grain, grain, false
		if c.write != ordered && !d.compareObserved(c.write, c.message(), e, addr+uint64(i/perElement)*e.op.Bytes) &&
			c.more == nil && !d.byLane {
			ordered = c.write
		}
		d.compareEarlier(c, e, addr+uint64(i/perElement)*e.op.Bytes)
		c.addRead(e)
	}
}

// write is a write or an atomic operation, with a message if it is strong.
func (d *Detector) write(e *event, addr uint64, cells []cell, perElement int, by *published) {
	if e.op.Kind == Update {
		d.at.checkWritten(e, addr, cells, perElement)
	}
	var orderedWrite, orderedRead *event
	var messages []message // of a strong write
	var extras []more
	if e.op.strong() {
		messages = make([]message, len(cells))
	}
	grain := e.op.Bytes / uint64(perElement)
	for i := range cells {
		c := &cells[i]
		d.cell, d.cellBytes, d.byLane = addr+uint64(i)*grain, grain, false
		at := addr + uint64(i/perElement)*e.op.Bytes
		if c.write != orderedWrite && !d.compareObserved(c.write, c.message(), e, at) && c.more == nil && !d.byLane {
			orderedWrite = c.write
		}
		d.byLane = false
		if c.read != orderedRead && !d.compare(c.read, e, at) && !d.byLane {
			orderedRead = c.read
		}
		var before *message
		if m := c.more; m != nil {
			for _, r := range m.reads {
				d.compare(r, e, at)
			}
			before = m.message
		}
		d.compareEarlier(c, e, at)
		kept := c.replaced(e)
		if m := c.more; m != nil {
			m.message, m.reads, m.earlier = nil, m.reads[:0], kept
		} else if len(kept) > 0 {
			c.extra().earlier = kept
		}
		c.write, c.read = e, nil
		if e.op.strong() {
			if c.more == nil {
				if len(extras) == 0 {
					extras = make([]more, len(cells)-i)
				}
				c.more, extras = &extras[0], extras[1:]
				c.more.reads = c.more.few[:0]
			}
			c.more.message = &messages[i]
			messages[i].publish(by, before)
		}
	}
}

// message is that of the last write, or nil.
func (c *cell) message() *message {
	if c.more == nil {
		return nil
	}
	return c.more.message
}

func (c *cell) extra() *more {
	if c.more == nil {
		c.more = &more{}
		c.more.reads = c.more.few[:0]
	}
	return c.more
}

// addRead keeps one read of each thread, strength and proxy. The last copy of a channel stands for the others.
func (c *cell) addRead(e *event) {
	if c.read == nil || c.read.standsFor(e) {
		c.read = e
		return
	}
	m := c.extra()
	for i, r := range m.reads {
		if r.standsFor(e) {
			m.reads[i] = e
			return
		}
	}
	m.reads = append(m.reads, e)
}

func (r *event) standsFor(e *event) bool {
	return r.thread.number == e.thread.number && (r.op == e.op ||
		r.op.Scope == e.op.Scope && r.op.Bytes == e.op.Bytes && r.op.Proxy == e.op.Proxy)
}

// each calls f for the elements, those of a page together, with their cells: n for each element. Lanes that access the
// same elements by a weak access count once where they are neighbors: one of them changes what is kept.
func (m *Memory) each(op *Operation, addresses []uint64, elements int, f func(at uint64, cells []cell, n int)) {
	size := op.Bytes * uint64(elements)
	for i := 0; i < len(addresses); {
		begin := addresses[i]
		end := begin + size
		for i++; i < len(addresses) && (addresses[i] == end || addresses[i] == end-size && !op.strong()); i++ {
			if addresses[i] == end {
				end += size
			}
		}
		for begin < end {
			c := m.chunk(begin / chunkBytes)
			stop := min(end, (begin/chunkBytes+1)*chunkBytes)
			if stop-begin == chunkBytes && op.Bytes == pageBytes {
				c.whole(op, begin, f)
			} else {
				c.some(m.now, op, begin, stop, f)
			}
			begin = stop
		}
	}
}

// whole is each for all elements of a chunk.
func (c *chunk) whole(op *Operation, addr uint64, f func(uint64, []cell, int)) {
	for i, p := range c.pages {
		if p != nil {
			f(addr+uint64(i)*pageBytes, p.cells, len(p.cells))
		}
	}
	f(addr, c.rest[:], 1)
	if op.Kind == Write && !op.strong() { // all pages are alike now
		clear(c.pages[:])
	}
}

// Untouched reports whether nothing has accessed the chunks of so many bytes.
func (m *Memory) Untouched(addr, bytes uint64) bool {
	for n := addr / chunkBytes; n*chunkBytes < addr+bytes; n++ {
		if m.chunks[n] != nil {
			return false
		}
	}
	return true
}

// chunk finds a chunk by its number, or makes it.
func (m *Memory) chunk(number uint64) *chunk {
	if m.last != nil && m.number == number {
		return m.last
	}
	c := m.chunks[number]
	if c == nil {
		if m.chunks == nil {
			m.chunks = map[uint64]*chunk{}
		}
		c = &chunk{}
		c.rest[0].write = m.origin
		m.chunks[number] = c
	}
	m.last, m.number = c, number
	return c
}

func (c *cell) clone() cell {
	part := *c
	if c.more != nil {
		part.more = &more{
			message: c.more.message, reads: slices.Clone(c.more.reads), earlier: slices.Clone(c.more.earlier),
		}
	}
	return part
}
