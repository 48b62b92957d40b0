package race

import (
	"maps"
	"slices"
)

// BeginMemory makes a memory that has not been accessed begin with an operation of a thread, which writes: accesses that it
// does not happen before race with it.
func (d *Detector) BeginMemory(t *Thread, m *Memory, op *Operation) {
	m.origin = &event{thread: t, time: t.time, op: op}
}

// checkWritten tells of a read of an element if a part of it was not written since the memory began.
func (m *Memory) checkWritten(e *event, addr uint64, cells []cell) {
	if m.Unwritten == nil {
		return
	}
	for i := range cells {
		if cells[i].write == m.origin {
			m.Unwritten(e.thread, e.op, addr)
			return
		}
	}
}

// EndMemory ends a range of memory with an operation of a thread, which writes: accesses that do not happen before it race
// with it. Nothing is kept of the range. Its ends are multiples of 256.
func (d *Detector) EndMemory(t *Thread, m *Memory, begin, end uint64, op *Operation) {
	d.at = m
	now := &event{thread: t, time: t.time, op: op}
	for _, number := range slices.Sorted(maps.Keys(m.pages)) {
		if number < begin/pageBytes || number >= end/pageBytes {
			continue
		}
		p := m.pages[number]
		for i := range p.cells {
			d.write(now, number*pageBytes+uint64(i)*p.grain, p.cells[i:i+1], nil)
		}
		delete(m.pages, number)
	}
	m.last = nil
}
