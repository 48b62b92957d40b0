package race

import "slices"

// BeginMemory makes a memory that has not been accessed begin with an operation of a thread, which writes: accesses that it
// does not happen before race with it.
func (d *Detector) BeginMemory(t *Thread, m *Memory, op *Operation) {
	m.origin = &event{thread: t, time: t.time, op: op}
}

// checkWritten tells of a read of an element whose first byte was not written since the memory began. Vectors at the
// end of a buffer reach beyond what was written, and what is behind is left out as a rule.
func (m *Memory) checkWritten(e *event, addr uint64, cells []cell) {
	if m.Unwritten != nil && cells[0].write == m.origin {
		m.Unwritten(e.thread, e.op, addr)
	}
}

// EndMemory ends a range of memory with an operation of a thread, which writes: accesses that do not happen before it race
// with it. Nothing is kept of the range. Its ends are multiples of 256.
func (d *Detector) EndMemory(t *Thread, m *Memory, begin, end uint64, op *Operation) {
	d.at = m
	now := &event{thread: t, time: t.time, op: op}
	for _, number := range m.pagesIn(begin/pageBytes, end/pageBytes) {
		p := m.pages[number]
		for i := range p.cells {
			d.write(now, number*pageBytes+uint64(i)*p.grain, p.cells[i:i+1], nil)
		}
		delete(m.pages, number)
	}
	m.last = nil
}

// pagesIn are the numbers of the pages of a range that have been accessed, in their order.
func (m *Memory) pagesIn(begin, end uint64) (all []uint64) {
	if end-begin <= uint64(len(m.pages)) {
		for number := begin; number < end; number++ {
			if m.pages[number] != nil {
				all = append(all, number)
			}
		}
		return all
	}
	for number := range m.pages {
		if begin <= number && number < end {
			all = append(all, number)
		}
	}
	slices.Sort(all)
	return all
}
