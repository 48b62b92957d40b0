package check

import (
	"fmt"

	"gpurun/cudart/sim/exec"
)

const causePassed = "the word has passed the value that is waited for"

// passedWord is a word that is larger than the one value that a wait for it needs.
type passedWord struct {
	last   *signal // that has written it
	wanted uint64
}

// passedBy tells whether a word has passed the value that a load waits for by ==. The word must have grown with each
// write, as an epoch or a counter: one that goes up and down may come back. 0 is what a lock or an empty slot is.
func (w *signalWord) passedBy(at exec.Place, lane, element int, value uint64) *passedWord {
	wanted, ok := at.Equals(lane, element)
	if !ok || w.last == nil || w.last.value != value || w.shrank || wanted == 0 || value <= wanted {
		return nil
	}
	return &passedWord{w.last, wanted}
}

// passed looks for a wait by == that a word has passed.
func (g *waitGraph) passed(f *Finding) bool {
	for i := range g.waits {
		if p := g.waits[i].passed; p != nil {
			g.blame(f, causePassed, i)
			by := p.last.access()
			f.Advice = fmt.Sprintf("the wait needs exactly %s, and %s has written %s at %s: wait for at least %s, by >=",
				valueText(p.wanted), by.Who(), valueText(p.last.value), by.Place(), valueText(p.wanted))
			return true
		}
	}
	return false
}
