package race

import (
	"maps"
	"slices"
)

// BeginMemory makes a memory that has not been accessed begin with an operation of a thread, which writes: accesses
// that it does not happen before race with it.
func (d *Detector) BeginMemory(t *Thread, m *Memory, op *Operation) {
	m.origin = &event{thread: t, time: t.time, op: op}
}

// checkWritten tells of reads of elements whose first byte was not written since the memory began. Vectors at the end
// of a buffer reach beyond what was written, and what is behind is left out as a rule.
func (m *Memory) checkWritten(e *event, addr uint64, cells []cell, perElement int) {
	if m.Unwritten == nil {
		return
	}
	for i := 0; i < len(cells); i += perElement {
		if cells[i].write == m.origin {
			m.Unwritten(e.thread, e.op, addr+uint64(i/perElement)*e.op.Bytes)
		}
	}
}

// EndMemory ends a range of memory with an operation of a thread, which writes: accesses that do not happen before it
// race with it. Nothing is kept of the range, which is an allocation and shares no chunk with another one.
func (d *Detector) EndMemory(t *Thread, m *Memory, begin, end uint64, op *Operation) {
	d.at = m
	now := &event{thread: t, time: t.time, op: op}
	for _, number := range slices.Sorted(maps.Keys(m.chunks)) {
		c := m.chunks[number]
		if number < begin/chunkBytes || number*chunkBytes >= end {
			continue
		}
		d.write(now, number*chunkBytes, c.rest[:], 1, nil)
		for i, p := range c.pages {
			if p == nil {
				continue
			}
			d.endPage(now, number*chunkBytes+uint64(i)*pageBytes, p)
		}
		delete(m.chunks, number)
	}
	m.last = nil
}

// endPage ends the memory of a page. Neighbors with the same last accesses are compared once.
func (d *Detector) endPage(now *event, addr uint64, p *page) {
	var last cell
	for i := range p.cells {
		c := p.cells[i]
		if i > 0 && c.more == nil && last.more == nil && c.write == last.write && c.read == last.read {
			continue
		}
		d.write(now, addr+uint64(i)*p.grain, p.cells[i:i+1], 1, nil)
		last = c
	}
}
