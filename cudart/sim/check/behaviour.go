package check

import (
	"slices"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// behaviour is the order of strong accesses to each word. Reads between two writes have no order.
type behaviour struct {
	words map[uint64]*wordOrder
	last  map[*race.Thread]*lastAccess
}

// wordOrder is a digest of the accesses to a word up to its last write, and the reads since then.
type wordOrder struct {
	order digest
	reads []uint64
}

// lastAccess is where a thread has accessed a word last, and how often it has gone on to another access. So a poll
// counts once however often it reads.
type lastAccess struct {
	site  exec.Site
	word  uint64
	count uint64
}

func newBehaviour() behaviour {
	return behaviour{map[uint64]*wordOrder{}, map[*race.Thread]*lastAccess{}}
}

// access notes a strong access of a thread with a name to a word.
func (b *behaviour) access(t *race.Thread, name uint64, site exec.Site, word uint64, writes bool) {
	l := b.last[t]
	if l == nil {
		l = &lastAccess{}
		b.last[t] = l
	}
	if writes || l.site != site || l.word != word {
		l.site, l.word = site, word
		l.count++
	}
	by := digest(name)
	by.mix(l.count)
	w := b.words[word]
	if w == nil {
		w = &wordOrder{}
		b.words[word] = w
	}
	switch {
	case writes:
		w.order.mix(w.readers(), uint64(by))
		w.reads = w.reads[:0]
	case !slices.Contains(w.reads, uint64(by)):
		w.reads = append(w.reads, uint64(by))
	}
}

// readers is the same for the same reads in any order.
func (w *wordOrder) readers() (sum uint64) {
	for _, r := range w.reads {
		sum += r
	}
	return sum
}

// digest is the same for the same order of accesses to each word.
func (b *behaviour) digest() (sum uint64) {
	for word, w := range b.words { // the order does not matter to a sum
		d := digest(word)
		d.mix(uint64(w.order), w.readers())
		sum += uint64(d)
	}
	return sum
}

// behave notes the words of a strong access.
func (o *observer) behave(t *race.Thread, at exec.Place, a *exec.ObservedAccess) {
	id := o.id
	id.block, id.warp = at.Block, at.Warp
	name := id.hash(0)
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 0 {
			continue
		}
		var word digest
		if r := o.run.memory.find(addr); r != nil && !exec.IsShared(addr) {
			word.mix(1, uint64(r.rank), uint64(r.ofRank), addr-r.base)
		} else {
			word.mix(o.id.hash(1), uint64(at.Block), addr)
		}
		o.run.behaviour.access(t, name, at.Site, uint64(word), a.Kind != exec.Reads)
	}
}
