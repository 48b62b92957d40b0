package check

import (
	"slices"

	"gpurun/cudart/sim/exec"
)

// signals follows the words of global memory by which threads signal one another: those that strong accesses touch.
type signals struct {
	pages  map[uint64]*signalPage // by the number of 256 bytes
	chunks map[uint64]bool        // that have a page, by the number of 65,536 bytes
	last   *signalPage            // the page that was looked up last, which may be nil, with its number
	number uint64
	// writers tell who has written to a named range of memory with strong writes, whichever rank's.
	writers map[string]*rangeWriters
	stale   []stalePass
	lost    []lostSignal
	// overwritten are the words in which a signal was overwritten, which a wait may need.
	overwritten []*signalWord

	silent silence
	words  slab[signalWord]
	writes slab[signal]
	reads  slab[reader]
}

// rangeWriters are the instructions that have written to a range, and whether a rank has written to its own memory
// there.
type rangeWriters struct {
	sites []exec.Site
	own   bool
}

// signalPage has the words of a page, by their first four bytes.
type signalPage [64]*signalWord

// signalWord is a word that was accessed with a strong access.
type signalWord struct {
	addr    uint64
	last    *signal // nil: nobody has written it, or a command has
	writers []*signal
	readers []*reader
	passes  []stalePass // that wait for the write that they should have waited for
	lost    *lostSignal // that no reader has gone without, so far; or nil
	shrank  bool        // a write has made its value smaller

	fewWriters [1]*signal // of writers and readers, as a rule
	fewReaders [2]*reader
}

// signal is a write to a word.
type signal struct {
	by     *doer
	site   exec.Site
	strong bool
	seen   bool // somebody else has read it
	value  uint64
	bytes  uint64
}

// reader is an instruction of a warp that has read a word with strong reads.
type reader struct {
	by     *doer
	site   exec.Site
	signal *signal // that it has read last
	// wanted is a digest of what the value was compared with then; known is false where that cannot be told.
	wanted uint64
	known  bool
}

// mostWriters bounds the writers that are kept of a word.
const mostWriters = 16

// page finds the page of an address.
func (s *signals) page(addr uint64, create bool) *signalPage {
	number := addr >> 8
	if number == s.number && (s.last != nil || !create) {
		return s.last
	}
	p := s.pages[number]
	if p == nil && create {
		if s.pages == nil {
			s.pages, s.chunks = map[uint64]*signalPage{}, map[uint64]bool{}
		}
		p = &signalPage{}
		s.pages[number] = p
		s.chunks[number>>8], s.silent = true, silence{}
	}
	s.last, s.number = p, number
	return p
}

// word finds what is known of a word; nil if it is none of the words that signal and create is false.
func (s *signals) word(addr uint64, create bool) *signalWord {
	p := s.page(addr, create)
	if p == nil {
		return nil
	}
	w := p[addr>>2&63]
	if w == nil && create {
		w = s.words.next()
		w.addr, w.writers, w.readers = addr, w.fewWriters[:0], w.fewReaders[:0]
		p[addr>>2&63] = w
	}
	return w
}

// access notes an access of a warp to global memory.
func (s *signals) access(r *run, d *doer, at exec.Place, a *exec.ObservedAccess) {
	strong := scopeOf(a.Order, a.Scope) != 0
	if !strong && !s.some(a) {
		return
	}
	for lane, base := range a.Addresses {
		if a.Lanes>>lane&1 == 0 || exec.IsShared(base) {
			continue
		}
		for k := range a.Elements {
			addr := d.grid.unique(base + uint64(k)*a.Bytes)
			w := s.word(addr, strong)
			if w == nil {
				continue
			}
			if a.Kind != exec.Writes {
				s.read(w, d, at, lane, k, strong)
			}
			if a.Kind != exec.Reads {
				value := wordOf(r.holds(d.grid, d.Block, addr, min(a.Bytes, 8)))
				written := s.writes.next()
				*written = signal{by: d, site: at.Site, strong: strong, value: value, bytes: a.Bytes}
				s.write(r, w, written, a.Kind)
			}
		}
	}
}

// some reports whether there may be words in the pages of an access.
func (s *signals) some(a *exec.ObservedAccess) bool {
	const most = 8 // pages that are looked at
	low, high := spread(a)
	first, last := low>>8, (high+a.Bytes*uint64(a.Elements)-1)>>8
	switch chunk := first >> 8; {
	case chunk == last>>8 && s.silent.has(chunk):
		return false
	case chunk == last>>8 && !s.chunks[chunk]:
		s.silent.add(chunk)
		return false
	case last-first >= most:
		return true
	}
	for n := first; n <= last; n++ {
		if s.pages[n] != nil {
			return true
		}
	}
	return false
}

// command notes that a command of a stream has written to a range: what was signaled there is over.
func (s *signals) command(addr, bytes uint64) {
	for chunk := addr >> 16; chunk <= (addr+bytes-1)>>16; chunk++ {
		if !s.chunks[chunk] {
			continue
		}
		for number := max(chunk<<8, addr>>8); number <= min(chunk<<8+255, (addr+bytes-1)>>8); number++ {
			s.pages[number].overwritten(addr, bytes)
		}
	}
}

// overwritten notes that a command has written to a range, for the words of a page, which may be nil.
func (p *signalPage) overwritten(addr, bytes uint64) {
	if p == nil {
		return
	}
	for _, w := range p {
		if w != nil && w.addr >= addr && w.addr < addr+bytes {
			w.last = nil
		}
	}
}

// write notes a write. What an atomic operation makes of a word has what it read in it.
func (s *signals) write(r *run, w *signalWord, by *signal, kind exec.AccessKind) {
	if kind == exec.Writes {
		s.overwrite(w, by)
	} else if w.last == nil || w.last.value != by.value {
		w.lost = nil
	}
	s.isAwaited(w, by)
	w.shrank = w.shrank || w.last != nil && by.value < w.last.value
	if old := w.last; old != nil && old.value == by.value && old.by == by.by {
		by.seen = old.seen // a warp that repeats itself says nothing new
	}
	if kind == exec.Writes || w.last == nil || w.last.value != by.value { // not a compare-and-swap that failed
		w.last = by
	}
	if !by.strong {
		return
	}
	for i, old := range w.writers {
		if old.site == by.site && old.by.Actor == by.by.Actor {
			w.writers[i] = by
			return
		}
	}
	if len(w.writers) < mostWriters {
		w.writers = append(w.writers, by)
		where, owner := r.memory.rangeOf(w.addr)
		r.signals.noteWriter(where, by.site, owner == by.by.Rank)
	}
}

func (s *signals) noteWriter(where string, site exec.Site, own bool) {
	if s.writers == nil {
		s.writers = map[string]*rangeWriters{}
	}
	known := s.writers[where]
	if known == nil {
		known = &rangeWriters{}
		s.writers[where] = known
	}
	known.own = known.own || own
	if !slices.Contains(known.sites, site) {
		known.sites = append(known.sites, site)
	}
}

// read notes a read of a word.
func (s *signals) read(w *signalWord, d *doer, at exec.Place, lane, element int, strong bool) {
	by := w.last
	if by != nil && by.by != d {
		by.seen = true
	}
	if !strong {
		return
	}
	e := s.reader(w, d, at.Site)
	before := *e
	e.by, e.signal, e.known = d, by, false
	if by == nil || by.by.sameBlock(d) {
		w.waitEnded(&before, e)
		return
	}
	e.wanted, e.known = at.Tested(lane, element)
	w.waitEnded(&before, e)
	s.passesAgain(w, &before, e)
}

// reader finds the entry of an instruction of a warp, in whatever launch.
func (s *signals) reader(w *signalWord, d *doer, site exec.Site) *reader {
	for _, e := range w.readers {
		if e.site == site && e.by.Actor == d.Actor {
			return e
		}
	}
	e := s.reads.next()
	e.by, e.site = d, site
	w.readers = append(w.readers, e)
	return e
}
