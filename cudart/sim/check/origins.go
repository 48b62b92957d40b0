package check

import (
	"slices"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// origins tell where a value in global memory comes from. Packets and mailboxes are stored and loaded by strong
// accesses, which do not race, so that a kernel that takes a packet too early shows by its result alone. Two things
// explain that result: who stored the value, and which load of the same call has read what an earlier call had left,
// before a store of its own call came.
//
// They are several words for each byte, so that they are kept in a run alone that explains a known result.
type origins struct {
	pages map[uint64]*originPage // by the number of 256 bytes
	early []*earlyLoad
}

// originPage is what is kept of 256 bytes.
type originPage struct {
	stores [originPageBytes]*origin          // that wrote a byte last; nil: none, as far as it is known
	loads  [originPageBytes / 4][]*earlyLoad // of each word
}

const originPageBytes = 256

// origin is a store: by a warp, or by a command.
type origin struct {
	by   *doer // nil of commands
	site exec.Site
	text string // the command
}

// earlyLoad is a load of a word that an earlier call has written, or nobody, and that its warp has not loaded again.
type earlyLoad struct {
	by    *doer
	site  exec.Site
	read  *origin // may be nil
	late  *origin // the store by another warp in the call of the load that came next; nil until then
	stale bool    // and the warp has not loaded the word again since then
}

// sameCall reports whether two warps make the same call, on whatever rank.
func (d *doer) sameCall(other *doer) bool {
	return d.Kernel == other.Kernel && d.grid.call == other.grid.call
}

func (o *origins) page(addr uint64, create bool) *originPage {
	p := o.pages[addr/originPageBytes]
	if p == nil && create {
		p = &originPage{}
		o.pages[addr/originPageBytes] = p
	}
	return p
}

// store notes that a warp or a command has written some bytes.
func (o *origins) store(addr, bytes uint64, s *origin) {
	for ; bytes > 0; addr, bytes = addr+1, bytes-1 {
		p := o.page(addr, s.by != nil)
		if p == nil {
			continue
		}
		at := addr % originPageBytes
		p.stores[at] = s
		if s.by == nil {
			continue
		}
		for _, e := range p.loads[at/4] {
			if e.late == nil && e.by != s.by && e.by.sameCall(s.by) {
				e.late, e.stale = s, true
				o.early = append(o.early, e)
			}
		}
	}
}

// load notes that a warp has read some bytes.
func (o *origins) load(addr, bytes uint64, by *doer, site exec.Site) {
	for end := addr + bytes; addr < end; addr = (addr/4 + 1) * 4 {
		p := o.page(addr, true)
		at := addr % originPageBytes
		loads := &p.loads[at/4]
		*loads = slices.DeleteFunc(*loads, func(e *earlyLoad) bool {
			e.stale = e.stale && e.by != by
			return e.by == by
		})
		if from := p.stores[at]; from == nil || from.by == nil || !from.by.sameCall(by) {
			*loads = append(*loads, &earlyLoad{by: by, site: site, read: from})
		}
	}
}

// copied notes that a command has copied some bytes, which keep their origins.
func (o *origins) copied(dst, src, bytes uint64) {
	for i := range bytes {
		var s *origin
		if p := o.page(src+i, false); p != nil {
			s = p.stores[(src+i)%originPageBytes]
		}
		if p := o.page(dst+i, s != nil); p != nil {
			p.stores[(dst+i)%originPageBytes] = s
		}
	}
}

// originOf is the store that wrote a byte last; nil where that is not known.
func (o *origins) originOf(addr uint64) *origin {
	if p := o.page(addr, false); p != nil {
		return p.stores[addr%originPageBytes]
	}
	return nil
}

// access is a store for people.
func (s *origin) access() Access {
	if s.by == nil {
		return Access{Kind: race.Write, Text: s.text}
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
	d := r.watched.doer(at.Block, at.Warp)
	bytes := a.Bytes * uint64(a.Elements)
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 0 || exec.IsShared(addr) || exec.IsWorkspace(addr) {
			continue
		}
		if a.Kind != exec.Writes {
			r.origins.load(addr, bytes, d, at.Site)
		}
		if a.Kind != exec.Reads && !a.Failed {
			r.origins.store(addr, bytes, &origin{by: d, site: at.Site})
		}
	}
}

func (r *originRecorder) Copy(at exec.Place, c *exec.ObservedCopy) {
	r.observer.Copy(at, c)
	d := r.watched.doer(at.Block, at.Warp)
	for _, from := range c.Reads {
		if !exec.IsShared(from.Address) {
			r.origins.load(from.Address, from.Bytes, d, at.Site)
		}
	}
	for _, to := range c.Writes {
		if !exec.IsShared(to.Address) {
			r.origins.store(to.Address, to.Bytes, &origin{by: d, site: at.Site})
		}
	}
}
