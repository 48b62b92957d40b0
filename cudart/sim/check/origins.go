package check

import (
	"slices"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// origins tell where a value in global memory comes from. Packets and mailboxes are stored and loaded by strong
// accesses, which do not race, so that a kernel that takes a packet too early shows by its result alone. So does one
// whose wait a later call fulfills. This explains the result: who stored the value, and which load of the same call has
// read what another call has written.
//
// They are several words for each byte, so that they are kept in a run alone that explains a known result.
type origins struct {
	run      *run
	pages    map[uint64]*originPage // by the number of 256 bytes
	misreads []*misread
	accesses int         // of warps
	last     *originPage // that was looked up last, or nil
	lastPage uint64      // its number
}

// originPage is what is kept of 256 bytes.
type originPage struct {
	stores [originPageBytes]*origin         // that wrote a byte last; nil: none, as far as it is known
	early  [originPageBytes / 4]*earlyLoads // loads of each word that may have been too early
}

const originPageBytes = 256

// origin is a store: by a warp, or by a command.
type origin struct {
	by   *doer // nil of commands
	site exec.Site
	text string // the command, and whose it is
	of   Actor
	// launches are how many the run had begun then.
	launches int
	copied   *origin // of a copy: the store of what it copied, or nil
	number   int     // of the accesses of the run by warps
}

// reading is what all loads of an instruction have in common.
type reading struct {
	by     *doer
	site   exec.Site
	update bool // by an atomic operation
	strong bool
	bytes  uint64
	at     race.Mark
	number int // of the accesses of the run by warps
}

// misread is a load of a word that has read what another call has written.
type misread struct {
	*reading
	read *origin // what it has read; nil: what was there before the first store
	// due is the store of the load's own call, by another rank, that came behind the load; nil if there was none. Then it
	// was too late: what it has read is of a later call.
	due *origin
	// again: the warp has loaded the word again since then.
	again bool
}

// mayBePacket reports whether a strong load may read data along with its flag, as more than four bytes show. A flag may
// have eight bytes, too.
func (r *reading) mayBePacket() bool { return r.strong && !r.update && r.bytes > 4 }

// rank is whose store it is.
func (s *origin) rank() int {
	if s.by == nil {
		return s.of.Rank
	}
	return s.by.Rank
}

// sameCall reports whether two warps make the same call, on whatever rank.
func (d *doer) sameCall(other *doer) bool {
	return d.Kernel == other.Kernel && d.grid.call == other.grid.call
}

// isBehind reports whether a store comes behind the launch that a warp's call is on the rank of the store.
func (o *origins) isBehind(s *origin, d *doer) bool {
	if s.by != nil {
		return s.by.Kernel == d.Kernel && s.by.grid.call > d.grid.call
	}
	return slices.ContainsFunc(o.run.grids[:s.launches], func(g *watchedGrid) bool {
		return g.rank == s.of.Rank && g.kernel == d.Kernel && g.call == d.grid.call
	})
}

func (o *origins) page(addr uint64, create bool) *originPage {
	number := addr / originPageBytes
	if o.last != nil && o.lastPage == number {
		return o.last
	}
	p := o.pages[number]
	if p == nil && create {
		p = &originPage{}
		o.pages[number] = p
	}
	if p != nil {
		o.last, o.lastPage = p, number
	}
	return p
}

// store notes that a warp has written some bytes. A store that is ordered behind a load has not come too late for the
// load: the kernel wants the value of before. Nor has an atomic operation for another one: neither waits for the other.
func (o *origins) store(addr, bytes uint64, s *origin, by *race.Thread, update bool) {
	for ; bytes > 0; addr, bytes = addr+1, bytes-1 {
		p, at := o.page(addr, true), addr%originPageBytes
		p.stores[at] = s
		for _, m := range p.early[at/4].all() {
			if m.due == nil && m.by.Rank != s.by.Rank && m.by.sameCall(s.by) && !(update && m.update) && !by.IsBehind(m.at) {
				m.due = s
				o.misreads = append(o.misreads, m)
			}
		}
	}
}

// load notes that a warp has read some bytes.
func (o *origins) load(addr uint64, of *reading) {
	by := of.by
	for end := addr + of.bytes; addr < end; addr = (addr/4 + 1) * 4 {
		p, at := o.page(addr, true), addr%originPageBytes
		early := p.early[at/4]
		early.forget(by)
		m := &misread{reading: of, read: p.stores[at]}
		switch from := m.read; {
		case from != nil && from.rank() != by.Rank && o.isBehind(from, by):
			if !of.strong || of.mayBePacket() { // a flag of a later call is as good as one of this call
				o.misreads = append(o.misreads, m)
			}
		case from == nil || from.by == nil || !from.by.sameCall(by):
			if early == nil {
				early = &earlyLoads{}
				p.early[at/4] = early
			}
			early.add(m)
		}
	}
}

// command notes that a command has written some bytes. What it clears before the first access of a kernel is as good as
// what nobody has written.
func (o *origins) command(addr, bytes uint64, text string, of Actor) {
	s := &origin{text: text, of: of, launches: len(o.run.grids)}
	for i := range bytes {
		if p := o.page(addr+i, false); p != nil {
			p.overwrite((addr+i)%originPageBytes, s)
		}
	}
}

// copied notes that a command has copied some bytes.
func (o *origins) copied(dst, src, bytes uint64, of Actor) {
	s := &origin{text: "copy", of: of, launches: len(o.run.grids)}
	for i := range bytes {
		if from := o.at(src + i); from != s.copied {
			next := *s
			next.copied = from
			s = &next
		}
		o.page(dst+i, true).overwrite((dst+i)%originPageBytes, s)
	}
}

// overwrite notes that a command has written a byte. No load before it waits for a store behind it.
func (p *originPage) overwrite(at uint64, s *origin) {
	p.stores[at], p.early[at/4] = s, nil
}

// at is the store that wrote a byte last; nil where that is not known.
func (o *origins) at(addr uint64) *origin {
	if p := o.page(addr, false); p != nil {
		return p.stores[addr%originPageBytes]
	}
	return nil
}

// of is the store by a warp of what is at an address, and may have been copied since; nil where that is not known.
func (o *origins) of(addr uint64) *origin {
	s := o.at(addr)
	for s != nil && s.by == nil {
		s = s.copied
	}
	return s
}

// access is a store for people.
func (s *origin) access() Access {
	if s.by == nil {
		return Access{Actor: s.of, Kind: race.Write, Text: s.text}
	}
	return sideOf(s.by, s.site, race.Write)
}

// originRecorder is an observer that keeps origins, too.
type originRecorder struct {
	*observer
	origins *origins
}

func (r *originRecorder) Access(at exec.Place, a *exec.ObservedAccess) {
	r.observer.Access(at, a)
	update := a.Kind == exec.Updates
	loads := a.Kind != exec.Writes && !a.Reduction // a reduction returns no value
	load, store, by := r.access(at, update)
	load.strong, load.bytes = scopeOf(a.Order, a.Scope) != race.NoScope, a.Bytes*uint64(a.Elements)
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 0 || exec.IsShared(addr) || exec.IsWorkspace(addr) {
			continue
		}
		if loads {
			r.origins.load(addr, load)
		}
		if a.Kind != exec.Reads && !a.Failed {
			r.origins.store(addr, load.bytes, store, by, update)
		}
	}
}

// access is what the loads and stores of an instruction have in common, and who performs it.
func (r *originRecorder) access(at exec.Place, update bool) (*reading, *origin, *race.Thread) {
	d, by := r.watched.doer(at.Block, at.Warp), r.warp(at.Block, at.Warp)
	r.origins.accesses++
	return &reading{by: d, site: at.Site, update: update, at: by.Mark(), number: r.origins.accesses},
		&origin{by: d, site: at.Site, number: r.origins.accesses}, by
}

func (r *originRecorder) Copy(at exec.Place, c *exec.ObservedCopy) {
	r.observer.Copy(at, c)
	load, store, by := r.access(at, false)
	for _, from := range c.Reads {
		if !exec.IsShared(from.Address) {
			of := *load
			of.bytes = from.Bytes
			r.origins.load(from.Address, &of)
		}
	}
	for _, to := range c.Writes {
		if !exec.IsShared(to.Address) {
			r.origins.store(to.Address, to.Bytes, store, by, false)
		}
	}
}
