package check

import (
	"bytes"

	"gpurun/cudart/sim/exec"
)

// pollLog is what a warp has read with strong reads and atomic operations, since it last stored something.
type pollLog struct{ reads []pollRead }

// pollRead is the last execution of an instruction.
type pollRead struct {
	at       exec.Place
	times    int // in a row that it has read the same values at the same addresses
	lanes    uint32
	bytes    uint64 // of each lane
	elements int
	address  [32]uint64
	values   []byte // of the lanes, one behind the other
}

// mostPolled bounds the instructions of a loop that are followed.
const mostPolled = 32

// note adds an access of a warp. A store ends what was a loop that does nothing but read.
func (l *pollLog) note(r *run, d *doer, at exec.Place, a *exec.ObservedAccess) {
	if a.Kind == exec.Writes {
		l.reads = l.reads[:0]
		return
	}
	if scopeOf(a.Order, a.Scope) == 0 {
		return
	}
	p := l.find(at.Site)
	size := a.Bytes * uint64(a.Elements)
	if p.lanes == a.Lanes && p.isAt(a) && p.unchanged(r, d) {
		p.times++
		return
	}
	p.at, p.times, p.lanes, p.bytes, p.elements, p.address = at, 1, a.Lanes, size, a.Elements, a.Addresses
	p.values = p.values[:0]
	p.each(func(_ int, addr uint64) {
		now := r.holds(d.grid, d.Block, addr, size)
		p.values = append(p.values, now...)
	})
}

// find is the entry of an instruction.
func (l *pollLog) find(site exec.Site) *pollRead {
	for i := range l.reads {
		if l.reads[i].at.Site == site {
			return &l.reads[i]
		}
	}
	if len(l.reads) == mostPolled {
		l.reads = l.reads[:0]
	}
	l.reads = append(l.reads, pollRead{})
	return &l.reads[len(l.reads)-1]
}

// each calls f for the lanes that have read.
func (p *pollRead) each(f func(lane int, addr uint64)) {
	for lane, addr := range p.address {
		if p.lanes>>lane&1 != 0 {
			f(lane, addr)
		}
	}
}

// isAt reports whether an access of the same lanes has the same addresses.
func (p *pollRead) isAt(a *exec.ObservedAccess) bool {
	same := true
	p.each(func(lane int, addr uint64) { same = same && addr == a.Addresses[lane] })
	return same
}

// unchanged reports whether memory holds what was read.
func (p *pollRead) unchanged(r *run, d *doer) bool {
	same, rest := true, p.values
	p.each(func(_ int, addr uint64) {
		now := r.holds(d.grid, d.Block, addr, p.bytes)
		if len(rest) < len(now) || !bytes.Equal(now, rest[:len(now)]) {
			same = false
			return
		}
		rest = rest[len(now):]
	})
	return same
}

// times is how often a loop has read what it reads each time.
func times(loop []*pollRead) int {
	most := 0
	for _, p := range loop {
		most = max(most, p.times)
	}
	return most
}

// loop are the instructions that the warp executes again and again, and that have read nothing new. It is empty where
// memory has changed since, or where the warp has not come round its loop.
func (l *pollLog) loop(r *run, d *doer) []*pollRead {
	var all []*pollRead
	for i := range l.reads {
		switch p := &l.reads[i]; {
		case p.times < 2:
		case !p.unchanged(r, d):
			return nil
		default:
			all = append(all, p)
		}
	}
	return all
}
