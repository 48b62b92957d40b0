package check

import (
	"slices"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// behavior is the order of strong accesses to each word. Reads between two writes have no order, and a poll counts
// once however often it reads.
type behavior struct {
	pages map[pageKey]*orderPage
	last  *orderPage // that was looked up last, or nil
	key   pageKey    // of last
}

// pageKey names the page of words of an address, which is the same for no other word of the run.
type pageKey struct {
	shared *race.Memory // of shared memory, whose addresses are the same in all blocks; or nil
	number uint64       // of its wordsOfPage words
}

// wordsOfPage words of four bytes are a page.
const wordsOfPage = 64

// orderPage is the order of accesses to the words of a page.
type orderPage struct {
	name  digest // the same in all schedules
	words [wordsOfPage]wordOrder
}

// wordOrder is a digest of the accesses to a word up to its last write, and the reads since then.
type wordOrder struct {
	order digest
	read  uint64   // one of the reads; 0: there are none
	reads []uint64 // the others
}

func newBehavior() behavior { return behavior{pages: map[pageKey]*orderPage{}} }

// page finds a page, or makes it with the name that a function gives.
func (b *behavior) page(key pageKey, name func() digest) *orderPage {
	if b.last != nil && b.key == key {
		return b.last
	}
	p := b.pages[key]
	if p == nil {
		p = &orderPage{name: name()}
		b.pages[key] = p
	}
	b.last, b.key = p, key
	return p
}

// access notes a strong access by an instruction of a warp, which have a name together.
func (w *wordOrder) access(by uint64, writes bool) {
	switch {
	case writes:
		w.order.mix(w.readers(), by)
		w.read, w.reads = 0, w.reads[:0]
	case w.read == 0:
		w.read = by
	case w.read != by && !slices.Contains(w.reads, by):
		w.reads = append(w.reads, by)
	}
}

// readers is the same for the same reads in any order.
func (w *wordOrder) readers() uint64 {
	sum := w.read
	for _, r := range w.reads {
		sum += r
	}
	return sum
}

// digest is the same for the same order of accesses to each word.
func (b *behavior) digest() (sum uint64) {
	for _, p := range b.pages { // the order does not matter to a sum
		for i := range p.words {
			if w := &p.words[i]; w.order != 0 || w.read != 0 {
				d := p.name
				d.mix(uint64(i), uint64(w.order), w.readers())
				sum += uint64(d)
			}
		}
	}
	return sum
}

// behave notes the words of a strong access.
func (o *observer) behave(at exec.Place, a *exec.ObservedAccess) {
	id := o.id
	id.Block, id.Warp = at.Block, at.Warp
	by := digest(hashOf(id, 0))
	by.mix(uint64(at.Site.Number()))
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 0 {
			continue
		}
		page := pageKey{number: o.watched.unique(addr) / (4 * wordsOfPage)}
		if exec.IsShared(addr) {
			page.shared = o.sharedAt(at, addr)
		}
		p := o.run.behavior.page(page, func() digest { return o.pageName(page, addr) })
		p.words[addr/4%wordsOfPage].access(uint64(by), a.Kind != exec.Reads)
	}
}

// pageName is the same for a page in all schedules.
func (o *observer) pageName(key pageKey, addr uint64) (name digest) {
	if key.shared != nil {
		name.mix(hashOf(o.id, 1), uint64(key.shared.Name.(sharedMemory).block), key.number)
	} else if r := o.run.memory.find(addr); r != nil {
		name.mix(1, uint64(r.rank), uint64(r.ofRank), key.number-r.base/(4*wordsOfPage))
	} else if exec.IsWorkspace(addr) {
		name.mix(hashOf(o.id, 3), addr/(4*wordsOfPage))
	} else {
		name.mix(hashOf(o.id, 2), key.number)
	}
	return name
}
